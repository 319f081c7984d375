import { once } from "node:events"
import { connect } from "node:net"
import { expect, it } from "@effect/vitest"
import { createClient } from "@tollgate/core/client"
import { startRedis } from "@tollgate/testing"
import { Effect } from "effect"
import { type Example, start } from "../src/server.ts"

const token = "a-management-token-for-acme"
const startExample = (redis: string) => start({ redis, secret: "test-secret-with-at-least-32-characters", token })

const getPort = async ({ server }: Example): Promise<number> => {
  if (!server.listening) await once(server, "listening")
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

it.live("serves the HTTP API at a path, and counts the calls of its protected route", () =>
  Effect.gen(function* () {
    const { url: redis } = yield* startRedis()
    yield* Effect.promise(async () => {
      const example = await startExample(redis)
      const url = `http://127.0.0.1:${await getPort(example)}`
      const acme = createClient({ baseUrl: `${url}/api/dev`, token }).account("acme")
      const { apiKeys } = await acme.keyBucket("production").consumers.create({ name: "alice" }, { withApiKey: true })
      const metering = await acme.meteringBuckets.ensure("default")
      await metering.plans.create({ label: "p", meters: { requests: { max: 1 } } })
      await metering.subscriptions.create({ customerKey: "alice", planExternalIds: ["p"] })
      const call = () => fetch(url, { headers: { authorization: `Bearer ${apiKeys[0].key}` } })
      expect(await (await call()).json()).toEqual({ hello: "alice", remaining: 0 })
      expect((await call()).status).toBe(429)
      expect((await fetch(url)).status).toBe(401)
      await example.stop()
    })
  })
)

it.live("stops although a client never finishes its request", () =>
  Effect.gen(function* () {
    const { url: redis } = yield* startRedis()
    yield* Effect.promise(async () => {
      const example = await startExample(redis)
      const received = once(example.server, "request")
      const socket = connect(await getPort(example), "127.0.0.1").on("error", () => undefined)
      socket.write(
        `POST /api/dev/v1/metering HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 100\r\n\r\n{`
      )
      await received
      const closed = once(socket, "close")
      await example.stop()
      await closed
    })
  })
)
