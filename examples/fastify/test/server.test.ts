import { createClient } from "@tollgate/core/client"
import { makeSubscription } from "@tollgate/testing"
import { expect, it } from "vitest"
import { start } from "../src/server.ts"

it("serves the HTTP API at a path, and counts the calls of its protected route", async () => {
  const token = "a-management-token-for-acme"
  const { url, stop } = await start("test-secret-with-at-least-32-characters", token)
  const acme = createClient({ baseUrl: `${url}/api/dev`, token }).account("acme")
  const { apiKeys } = await acme.keyBucket("production").consumers.create({ name: "alice" }, { withApiKey: true })
  const billing = await acme.meteringBuckets.ensure("billing")
  const plan = await billing.plans.create({ label: "P", planExternalId: "p", meters: { requests: { max: 1 } } })
  await billing.subscriptions.create(makeSubscription(plan.id, "p", {}))

  const hello = () => fetch(`${url}/hello`, { headers: { authorization: `Bearer ${apiKeys?.[0]?.key}` } })
  const first = await hello()
  expect(await first.json()).toEqual({ hello: "alice", remaining: 0 })
  expect(first.headers.get("ratelimit")).toMatch(/^"requests";r=0;t=\d+$/)
  expect((await hello()).status).toBe(429)
  expect((await fetch(`${url}/hello`)).status).toBe(401)
  await stop()
})
