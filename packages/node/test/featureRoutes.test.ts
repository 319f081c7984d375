/**
 * Protected routes that need features of the customer's plans, in every framework.
 */
import { ConfigurationError, createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import type { RequireApiKeyOptions } from "@tollgate/fetch"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { frameworks, type ProtectedRoute } from "./protectingFrameworks.ts"

let gate: Tollgate
let production: LocalKeyBucketHandle
let meteringBucketId: string
const keys: Record<string, string> = {}
const ignore = () => undefined

beforeAll(async () => {
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  gate = await createTollgate({ store: MemoryStore.open(), secret: "test-secret-with-at-least-32-characters", logger })
  const account = gate.account("acme")
  production = account.keyBucket("production")
  const billing = await account.meteringBuckets.ensure("default")
  meteringBucketId = billing.id
  const meters = { requests: { max: 1_000 } }
  await billing.plans.create({ label: "free", meters })
  await billing.plans.create({ label: "pro", meters, features: { exports: true, seats: 5 } })
  for (const [name, plan] of [
    ["alice", "free"],
    ["bob", "pro"]
  ] as const) {
    const { apiKeys } = await production.consumers.create({ name }, { withApiKey: true })
    keys[name] = apiKeys[0].key ?? ""
    await billing.subscriptions.create({ customerKey: name, planExternalIds: [plan] })
  }
})
afterAll(() => gate.close())

describe.each(frameworks)("a route that needs features, in $name", ({ serve, requireApiKey }) => {
  const routes: Array<ProtectedRoute> = []
  afterEach(() => Promise.all(routes.splice(0).map(({ close }) => close())))
  const open = async (options: RequireApiKeyOptions) => {
    const route = await serve(production, options, ignore)
    routes.push(route)
    return (name: string) => route.call("", { authorization: `Bearer ${keys[name]}` })
  }

  it.each([
    ["", () => ({ meteringBucketId, meters: { requests: 1 } })],
    [" with a function of the request", () => () => ({ meteringBucketId })]
  ])("is for customers whose plans have them%s", async (_, getMetering) => {
    const call = await open({ features: ["exports"], metering: getMetering() })
    const allowed = await call("bob")
    expect([allowed.status, await allowed.json()]).toMatchObject([
      200,
      { consumer: { features: { exports: true, seats: 5 } } }
    ])
    const refused = await call("alice")
    expect([refused.status, await refused.json()]).toMatchObject([
      403,
      { code: "missing-feature", features: ["exports"] }
    ])
  })

  it("needs metering, for every request", async () => {
    expect(() => requireApiKey(production, { features: ["exports"] })).toThrow(ConfigurationError)
    const call = await open({ features: ["exports"], metering: () => undefined })
    expect((await call("bob")).status).toBe(500)
  })
})
