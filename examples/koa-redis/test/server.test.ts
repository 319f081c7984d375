import { once } from "node:events"
import { expect, it } from "@effect/vitest"
import { createClient } from "@tollgate/core"
import { startRedis, subscriptionTo } from "@tollgate/testing"
import { Effect } from "effect"
import { start } from "../src/server.ts"

it.live("serves the interface below a path, and counts the calls of its own route", () =>
  Effect.gen(function* () {
    const { url: redis } = yield* startRedis()
    const token = "a-management-token-for-acme"
    yield* Effect.promise(async () => {
      const { server, stop } = await start({ redis, secret: "a secret of the tests, and of nobody else", token })
      if (!server.listening) await once(server, "listening")
      const address = server.address()
      const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
      const client = createClient({ baseUrl: `${url}/api/dev`, token })
      const { apiKeys } = await client.consumers.create("acme", "production", { name: "alice" }, { withApiKey: true })
      const bucketId = (await client.buckets.list("acme")).data[0]?.id ?? ""
      const plan = await client.plans.create(bucketId, {
        label: "P",
        planExternalId: "p",
        meters: { requests: { max: 1 } }
      })
      await client.subscriptions.create(bucketId, subscriptionTo(plan.id, "p", {}))
      const call = () => fetch(url, { headers: { authorization: `Bearer ${apiKeys?.[0]?.key}` } })
      expect(await (await call()).json()).toEqual({ hello: "alice", remaining: 0 })
      expect((await call()).status).toBe(429)
      expect((await fetch(url)).status).toBe(401)
      await stop()
    })
  })
)
