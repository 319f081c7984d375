/**
 * Rate limits and scopes of protected routes behave the same in every framework.
 */
import { ConfigurationError, createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import type { RequireApiKeyOptions } from "@tollgate/fetch"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { frameworks, type ProtectedRoute } from "./protectingFrameworks.ts"

let gate: Tollgate
let production: LocalKeyBucketHandle
let meteringBucketId: string

beforeAll(async () => {
  gate = await createTollgate({ store: MemoryStore.open(), secret: "test-secret-with-at-least-32-characters" })
  production = gate.account("acme").keyBucket("production")
  const billing = await gate.account("acme").meteringBuckets.ensure("billing")
  meteringBucketId = billing.id
  await billing.plans.create({
    planExternalId: "pro",
    meters: { requests: { max: 1000 }, tokens: { max: 50 } },
    rateLimits: { steady: { limit: 3, per: "day" } }
  })
})
afterAll(() => gate.close())

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
/** The query of a request, which every framework has in its URL. */
const getQuery = ({ url }: { readonly url: string }, name: string) =>
  new URL(url, "http://localhost").searchParams.get(name)

const readConsumer = async (response: Response) => ((await response.json()) as { readonly consumer: unknown }).consumer

let count = 0

describe.each(frameworks)("rate limits and scopes of requireApiKey in $name", ({ serve, requireApiKey }) => {
  let key: string
  let name: string
  let handled: number
  const routes: Array<ProtectedRoute> = []
  beforeEach(async () => {
    name = `limited-${++count}`
    await production.consumers.create({ name })
    key = (await production.keys.create(name, { scopes: ["orders:*", "users:read"] })).key ?? ""
    handled = 0
  })
  afterEach(() => Promise.all(routes.splice(0).map(({ close }) => close())))

  const start = async (options?: RequireApiKeyOptions) => {
    const route = await serve(production, options, () => {
      handled++
    })
    routes.push(route)
    return (query = "", headers: Readonly<Record<string, string>> = bearer(key)) => route.call(query, headers)
  }
  const subscribe = () =>
    gate
      .account("acme")
      .meteringBucket(meteringBucketId)
      .subscriptions.create({ customerKey: name, planExternalIds: ["pro"] })

  it("allow the burst, tell what is left, then refuse with 429", async () => {
    const call = await start({ rateLimit: { limit: 2, per: "hour" } })
    const first = await call()
    expect(first.status).toBe(200)
    expect(first.headers.get("ratelimit-policy")).toBe('"default";q=2;w=3600')
    expect(first.headers.get("ratelimit")).toBe('"default";r=1;t=1800')
    expect(await readConsumer(first)).toMatchObject({
      scopes: ["orders:*", "users:read"],
      rateLimits: [{ name: "default", limit: 2, per: 3_600_000, burst: 2, remaining: 1 }]
    })
    expect((await call()).headers.get("ratelimit")).toBe('"default";r=0;t=3600')
    const refused = await call()
    const problem = (await refused.json()) as { readonly retryAfterMs: number }
    expect([refused.status, handled]).toEqual([429, 2])
    expect(refused.headers.get("content-type")).toContain("application/problem+json")
    expect(problem).toMatchObject({ code: "rate-limited", limit: "default", retryAfterMs: expect.any(Number) })
    const retryAfter = String(Math.ceil(problem.retryAfterMs / 1000))
    expect(refused.headers.get("retry-after")).toBe(retryAfter)
    expect(refused.headers.get("ratelimit-policy")).toBe('"default";q=2;w=3600')
    expect(refused.headers.get("ratelimit")).toBe(`"default";r=0;t=${retryAfter}`)
  })

  it("judge the limits of the route, then those of the plan, then meters, as one decision", async () => {
    await subscribe()
    const metering = { meteringBucketId, meters: { tokens: 20 } }
    const call = await start({ rateLimits: [{ name: "route", limit: 10, per: "day" }], metering })
    const first = await call()
    expect(first.headers.get("ratelimit-policy")).toMatch(/^"route";q=10;w=86400, "steady";q=3;w=86400, "tokens";q=50;/)
    expect(first.headers.get("ratelimit")).toMatch(/^"route";r=9;t=8640, "steady";r=2;t=28800, "tokens";r=30;t=\d+$/)
    expect(await readConsumer(first)).toMatchObject({
      subscription: { id: expect.stringMatching(/^sbsc_/), status: "active", planIds: [expect.any(String)] },
      quotas: { meters: { tokens: { max: 50, used: 20, remaining: 30 } } },
      rateLimits: [{ name: "route" }, { name: "steady" }],
      remaining: { tokens: 30 }
    })
    await call()
    const overQuota = await call()
    expect(await overQuota.json()).toMatchObject({ code: "quota-exceeded", meter: "tokens", max: 50 })
    expect(overQuota.headers.get("ratelimit-policy")).toMatch(/^"tokens";q=50;w=\d+$/)
    expect(overQuota.headers.get("ratelimit")).toMatch(/^"tokens";r=10;t=\d+$/)
    // The refusal took nothing: one request of the plan's limit is left.
    const onlySubscription = await start({ metering: { meteringBucketId } })
    expect((await onlySubscription()).headers.get("ratelimit")).toMatch(/^"steady";r=0;t=86400$/)
    expect(await (await onlySubscription()).json()).toMatchObject({ code: "rate-limited", limit: "steady" })
  })

  it("respond with 403 and the missing scopes, without rate limit headers", async () => {
    const call = await start({
      scopes: ["orders:read", "users:write", "admin"],
      rateLimit: { limit: 1, per: "day" }
    })
    const refused = await call()
    expect(refused.status).toBe(403)
    expect(await refused.json()).toMatchObject({ code: "missing-scope", scopes: ["users:write", "admin"] })
    expect([refused.headers.get("ratelimit"), refused.headers.get("ratelimit-policy"), handled]).toEqual([
      null,
      null,
      0
    ])
    const allowed = await start({ scopes: ["orders:read", "users:read"], rateLimit: { limit: 1, per: "day" } })
    expect((await allowed()).status).toBe(200)
  })

  it("do not tell outsiders why a key is not valid", async () => {
    const call = await start({ rateLimit: { limit: 1, per: "day" } })
    const keys = production.keys
    const { data } = await keys.list(name)
    const keyId = data[0]?.id ?? ""
    const responses = [await call("", {}), await call("", bearer("wrong")), await call("", bearer("x".repeat(40)))]
    await keys.update(name, keyId, { disabled: true })
    responses.push(await call())
    await keys.update(name, keyId, { disabled: false, expiresOn: "2020-01-01T00:00:00Z" })
    responses.push(await call())
    const bodies = (await Promise.all(responses.map((response) => response.json()))) as ReadonlyArray<object>
    for (const [index, body] of bodies.entries()) {
      expect(responses[index]?.status).toBe(401)
      expect(responses[index]?.headers.get("ratelimit")).toBeNull()
      expect({ ...body, instance: "" }).toEqual({ ...bodies[0], instance: "" })
    }
    await keys.update(name, keyId, { expiresOn: null })
    expect((await call()).headers.get("ratelimit")).toBe('"default";r=0;t=86400')
  })

  it("take the cost, the subject and the metering from functions of the request", async () => {
    await subscribe()
    type Query = { readonly url: string }
    const call = await start({
      rateLimit: {
        limit: 10,
        per: "day",
        by: (request: Query) => ({ value: `${name} ${getQuery(request, "by")}` }),
        cost: async (request: Query) => Number(getQuery(request, "cost") ?? 1)
      },
      limitsIn: meteringBucketId,
      metering: (request: Query) =>
        getQuery(request, "meter") === null ? undefined : { meteringBucketId, meters: { tokens: 1 } }
    })
    expect((await call("?cost=4")).headers.get("ratelimit")).toMatch(/^"default";r=6;t=\d+$/)
    expect((await call("?cost=4&by=other")).headers.get("ratelimit")).toMatch(/^"default";r=6;t=\d+$/)
    expect((await call("?meter=1")).headers.get("ratelimit")).toMatch(
      /^"default";r=5;t=\d+, "steady";r=2;.*"tokens";r=49/
    )
    const handledBefore = handled
    const tooCostly = await call("?cost=11")
    expect(tooCostly.status).toBe(400)
    expect(await tooCostly.json()).toMatchObject({ code: "bad-request", detail: expect.stringContaining("costs 11") })
    expect((await call("?cost=11", bearer("wrong"))).status).toBe(401)
    for (const wrong of ["?cost=0", "?cost=-1", "?cost=1.5", "?cost=x"]) expect((await call(wrong)).status).toBe(500)
    expect(handled).toBe(handledBefore)
  })

  it("call functions of the request only for a valid key with the scopes", async () => {
    let calls = 0
    const count = () => ++calls
    const call = await start({ scopes: ["orders:read"], rateLimit: { limit: 100, per: "day", cost: count } })
    expect((await call("", bearer("x".repeat(40)))).status).toBe(401)
    const { key: other = "" } = await production.keys.create(name, { scopes: ["users:read"] })
    expect((await call("", bearer(other))).status).toBe(403)
    expect(calls).toBe(0)
    expect((await call()).status).toBe(200)
    expect(calls).toBe(1)
  })

  it("may have a name, which separates limits with the same numbers", async () => {
    const rateLimit = { limit: 1, per: "day" } as const
    const one = await start({ rateLimit: { ...rateLimit, name: "one" } })
    const other = await start({ rateLimit: { ...rateLimit, name: "other", burst: undefined } })
    expect((await one()).headers.get("ratelimit")).toBe('"one";r=0;t=86400')
    expect((await other()).headers.get("ratelimit")).toBe('"other";r=0;t=86400')
    expect((await one()).status).toBe(429)
  })

  it("fail as a mistake of the server if a function returns what is not valid, or throws", async () => {
    for (const options of [
      { rateLimit: { limit: 1, per: "day", by: () => "ip" } },
      { rateLimit: { limit: 1, per: "day", by: () => ({ value: undefined }) } },
      { metering: () => ({ meteringBucketId: 5 }) },
      { metering: () => ({ meteringBucketId, meters: { requests: -1 } }) },
      { metering: () => Promise.reject(new Error("a mistake")) },
      { metering: () => production.keys.list(name, { limit: -1 }) }
    ]) {
      const call = await start(options as never)
      expect([(await call()).status, handled]).toEqual([500, 0])
      expect((await call("", bearer("wrong"))).status).toBe(401)
    }
  })

  it.each<readonly [option: string, options: object]>([
    ["rateLimit.limit", { rateLimit: { limit: 0, per: "day" } }],
    ["rateLimit.limit", { rateLimit: { limit: 51, per: 1 } }],
    ["rateLimit.per", { rateLimit: { limit: 1 } }],
    ["rateLimit.per", { rateLimit: { limit: 1, per: "week" } }],
    ["rateLimit.burst", { rateLimit: { limit: 1, per: "day", burst: 367 } }],
    ["rateLimit.cost", { rateLimit: { limit: 1, per: "day", cost: 2 } }],
    ["rateLimit.by", { rateLimit: { limit: 1, per: "day", by: "ip" } }],
    ["rateLimit.name", { rateLimit: { name: "a b", limit: 1, per: "day" } }],
    ["rateLimit.times", { rateLimit: { limit: 1, per: "day", times: 1 } }],
    ["rateLimit", { rateLimit: "10/s" }],
    ["rateLimits[0].name", { rateLimits: [{ limit: 1, per: "day" }] }],
    [
      "rateLimits[1].name",
      {
        rateLimits: [
          { name: "a", limit: 1, per: "day" },
          { name: "a", limit: 2, per: "day" }
        ]
      }
    ],
    ["rateLimit", { rateLimit: { limit: 1, per: "day" }, rateLimits: [] }],
    ["rateLimit.burst", { rateLimit: { limit: 1, per: "day", burst: () => 1 } }],
    ["options", Promise.resolve({ scopes: ["orders:read"] })],
    ["options", new Map([["scopes", ["orders:read"]]])],
    ["options", Object.create({ scopes: ["orders:read"] })],
    ["options", [{ scopes: ["orders:read"] }]],
    ["scopes[0]", { scopes: ["not valid"] }],
    ["scopes", { scopes: "orders:read" }]
  ])("are refused when the route is created: %s of %o", (option, options) => {
    const create = () => requireApiKey(production, options as RequireApiKeyOptions)
    expect(create).toThrow(ConfigurationError)
    expect(create).toThrow(expect.objectContaining({ option }))
  })
})
