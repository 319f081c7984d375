import { createClient } from "@tollgate/core/client"
import { makeSubscription } from "@tollgate/testing"
import { expect, it } from "vitest"
import { start } from "../src/server.ts"

it("serves the HTTP API at a path, and protects its routes", async () => {
  const token = "a-management-token-for-acme"
  const { url, stop } = await start("test-secret-with-at-least-32-characters", token)
  const acme = createClient({ baseUrl: `${url}/api/dev`, token }).account("acme")
  const { apiKeys } = await acme.keyBucket("production").consumers.create({ name: "alice" }, { withApiKey: true })
  const billing = await acme.meteringBuckets.ensure("billing")
  const plan = await billing.plans.create({ label: "P", planExternalId: "p", meters: { requests: { max: 1 } } })
  await billing.subscriptions.create(makeSubscription(plan.id, "p", {}))
  const key = apiKeys?.[0]?.key ?? ""

  const hello = () => fetch(`${url}/hello`, { headers: { authorization: `Bearer ${key}` } })
  const first = await hello()
  expect(await first.json()).toEqual({ hello: "alice", remaining: 0 })
  expect(first.headers.get("ratelimit")).toMatch(/^"requests";r=0;t=\d+$/)
  expect((await hello()).status).toBe(429)

  const whoami = (headers: Readonly<Record<string, string>>) => fetch(`${url}/whoami`, { headers })
  expect(await (await whoami({ "x-api-key": key })).text()).toBe("alice")
  expect((await whoami({})).status).toBe(401)

  const mistyped = await fetch(`${url}/api/dev/v1/accounts/acme/metering-buckets`)
  expect([mistyped.status, mistyped.headers.get("content-type")]).toEqual([404, "application/problem+json"])
  expect(await mistyped.json()).toMatchObject({ code: "not-found" })
  const wrongMethod = await fetch(`${url}/api/dev/v1/metering`, { method: "PUT" })
  expect([wrongMethod.status, wrongMethod.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"])
  expect(await (await fetch(`${url}/v1/metering`)).text()).toBe("404 Not Found")
  await stop()
})
