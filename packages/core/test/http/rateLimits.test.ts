import { createTollgate, type Tollgate } from "@tollgate/core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores, tokens } from "../stores.ts"
import { type Client, makeClient } from "./client.ts"

describe.each(stores)("rate limits of plans over HTTP, on %s", (_, store) => {
  let gate: Tollgate
  let call: Client
  let bucket: string
  let count = 0
  beforeAll(async () => {
    gate = await createTollgate({ store, secret, tokens: grants })
    call = makeClient(gate.handler)
    bucket = `/v1/metering/${(await call("POST", "/v1/metering")).body.id}`
  })
  afterAll(() => gate.close())

  const planInput = (fields: object) => ({
    label: "Plan",
    planExternalId: `plan-${++count}`,
    meters: { requests: { max: 1000 }, tokens: { max: 10 } },
    ...fields
  })
  const makePlan = async (rateLimits: object) => {
    const created = await call("POST", `${bucket}/plans`, { body: planInput({ rateLimits }) })
    expect(created.status).toBe(200)
    return created.body
  }
  const subscribe = async (...plans: ReadonlyArray<{ id: string; planExternalId: string }>) => {
    const created = await call("POST", `${bucket}/subscriptions`, {
      body: {
        planIds: plans.map(({ id }) => id),
        planExternalIds: plans.map(({ planExternalId }) => planExternalId),
        status: "active",
        type: "periodic",
        renewalStrategy: "monthly",
        region: "us-central1",
        customerKey: "alice",
        subscriptionExternalId: `external-${++count}`,
        customerExternalId: "customer-1"
      }
    })
    expect(created.status).toBe(200)
    return `${bucket}/subscriptions/${created.body.id}`
  }
  const consume = (subscription: string, meters: object = { requests: 1 }, headers: Record<string, string> = {}) =>
    call("POST", `${subscription}/quotas/consume`, { body: { meters }, headers })
  const hourly = { limit: 2, per: "hour" }

  it("are part of a plan: shown as given, replaced whole, removed with {}", async () => {
    const rateLimits = { steady: { limit: 5, per: "minute", burst: 2 }, daily: { limit: 100, per: 86_400_000 } }
    const plan = await makePlan(rateLimits)
    expect(plan.rateLimits).toEqual(rateLimits)
    const path = `${bucket}/plans/${plan.id}`
    expect((await call("GET", path)).body.rateLimits).toEqual(rateLimits)
    expect((await call("PATCH", path, { body: { label: "New" } })).body.rateLimits).toEqual(rateLimits)
    const replaced = { other: { limit: 1, per: "second" } }
    expect((await call("PATCH", path, { body: { rateLimits: replaced } })).body.rateLimits).toEqual(replaced)
    expect((await call("PATCH", path, { body: { rateLimits: {} } })).body).not.toHaveProperty("rateLimits")
    expect((await call("GET", path)).body).not.toHaveProperty("rateLimits")
    const { body } = await call("POST", `${bucket}/plans`, { body: planInput({ rateLimits: {} }) })
    expect(body).not.toHaveProperty("rateLimits")
  })

  it.each([
    ["a limit of 0", { a: { limit: 0, per: "second" } }],
    ["a limit over a million", { a: { limit: 1_000_001, per: "day" } }],
    ["a limit that is not an integer", { a: { limit: 1.5, per: "day" } }],
    ["no per", { a: { limit: 1 } }],
    ["an unknown unit", { a: { limit: 1, per: "week" } }],
    ["a per of 0", { a: { limit: 1, per: 0 } }],
    ["a per over 31 days", { a: { limit: 1, per: 31 * 86_400_000 + 1 } }],
    ["a burst of 0", { a: { limit: 1, per: "day", burst: 0 } }],
    ["a burst over a million", { a: { limit: 1, per: "day", burst: 1_000_001 } }],
    ["more than 50,000 a second", { a: { limit: 51, per: 1 } }],
    ["a burst that takes more than 366 days", { a: { limit: 1, per: "day", burst: 367 } }],
    ["an unknown field", { a: { limit: 1, per: "day", by: "key" } }],
    ["a name with a space", { "a b": { limit: 1, per: "day" } }],
    ["eleven limits", Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`l${i}`, { limit: 1, per: "day" }]))],
    ["null", null],
    ["an array", []]
  ])("are refused with 400: %s", async (_, rateLimits) => {
    expect(await call("POST", `${bucket}/plans`, { body: planInput({ rateLimits }) })).toMatchObject({
      status: 400,
      body: { code: "bad-request", errors: [{ pointer: expect.stringMatching(/^\/rateLimits/) }] }
    })
  })

  it("accepts the limits at their bounds", async () => {
    const plan = await makePlan({
      fast: { limit: 50, per: 1 },
      large: { limit: 1_000_000, per: "day", burst: 1_000_000 },
      slow: { limit: 1, per: 31 * 86_400_000, burst: 11 },
      long: { limit: 1, per: "day", burst: 366 }
    })
    expect(Object.keys(plan.rateLimits)).toHaveLength(4)
    expect((await consume(await subscribe(plan))).status).toBe(200)
  })

  it("allow the burst, then refuse with 429, and count nothing", async () => {
    const subscription = await subscribe(await makePlan({ steady: hourly }))
    const first = await consume(subscription)
    expect(first.headers.get("ratelimit-policy")).toMatch(/^"steady";q=2;w=3600, "requests";q=1000;w=2\d{6}$/)
    expect(first.headers.get("ratelimit")).toMatch(/^"steady";r=1;t=1800, "requests";r=999;t=\d+$/)
    expect(first.body).toEqual({
      meters: { requests: { max: 1000, used: 1, remaining: 999 } },
      periodStart: expect.any(String),
      resetsOn: expect.any(String)
    })
    expect((await consume(subscription)).headers.get("ratelimit")).toMatch(/^"steady";r=0;t=3600, /)
    const refused = await consume(subscription)
    expect(refused).toMatchObject({
      status: 429,
      body: { type: "urn:tollgate:problem:rate-limited", code: "rate-limited", status: 429, limit: "steady" }
    })
    expect(refused.body.retryAfterMs).toBeGreaterThan(1_790_000)
    expect(refused.body.retryAfterMs).toBeLessThanOrEqual(1_800_000)
    const retryAfter = Math.ceil(refused.body.retryAfterMs / 1000)
    expect(refused.headers.get("retry-after")).toBe(String(retryAfter))
    expect(refused.headers.get("ratelimit-policy")).toBe('"steady";q=2;w=3600')
    expect(refused.headers.get("ratelimit")).toBe(`"steady";r=0;t=${retryAfter}`)
    expect((await call("GET", `${subscription}/quotas`)).body.meters.requests.used).toBe(2)
  })

  it("hold per subscription, and a quota that refuses takes nothing from a limit", async () => {
    const plan = await makePlan({ steady: hourly })
    const [one, other] = [await subscribe(plan), await subscribe(plan)]
    const overQuota = await consume(one, { tokens: 11 })
    expect(overQuota).toMatchObject({ status: 429, body: { code: "quota-exceeded", meter: "tokens", max: 10 } })
    expect(overQuota.headers.get("ratelimit-policy")).toMatch(/^"tokens";q=10;w=\d+$/)
    const retryAfter = overQuota.headers.get("retry-after")
    expect(overQuota.headers.get("ratelimit")).toBe(`"tokens";r=10;t=${retryAfter}`)
    for (const subscription of [one, one, other, other]) expect((await consume(subscription)).status).toBe(200)
    for (const subscription of [one, other]) expect((await consume(subscription)).status).toBe(429)
    expect((await consume(one, { tokens: 11 })).body.code).toBe("rate-limited")
  })

  it("cost nothing on a replay, which carries no headers", async () => {
    const subscription = await subscribe(await makePlan({ steady: { limit: 1, per: "hour" } }))
    const key = { "idempotency-key": "once" }
    const first = await consume(subscription, { requests: 1 }, key)
    expect(first.headers.get("ratelimit")).not.toBeNull()
    for (let repeat = 0; repeat < 3; repeat++) {
      const replay = await consume(subscription, { requests: 1 }, key)
      expect(replay).toMatchObject({ status: 200, body: first.body })
      expect(replay.headers.get("ratelimit")).toBeNull()
      expect(replay.headers.get("ratelimit-policy")).toBeNull()
    }
    expect((await consume(subscription)).status).toBe(429)
  })

  it("of two plans: the higher rate counts with its own burst, of equal rates the larger burst", async () => {
    const slow = await makePlan({ a: { limit: 60, per: "hour", burst: 9 }, b: { limit: 1, per: "minute", burst: 2 } })
    const fast = await makePlan({ a: { limit: 2, per: "minute", burst: 3 }, b: { limit: 60, per: "hour", burst: 4 } })
    for (const plans of [
      [slow, fast],
      [fast, slow]
    ]) {
      const { headers } = await consume(await subscribe(...plans))
      expect(headers.get("ratelimit-policy")).toContain('"a";q=2;w=60')
      expect(headers.get("ratelimit")).toContain('"a";r=2;')
      expect(headers.get("ratelimit")).toContain('"b";r=3;')
    }
  })

  it("act at once when the plan changes: a changed limit starts afresh, and {} lifts all", async () => {
    const plan = await makePlan({ steady: { limit: 1, per: "hour" } })
    const subscription = await subscribe(plan)
    const change = (rateLimits: object) => call("PATCH", `${bucket}/plans/${plan.id}`, { body: { rateLimits } })
    await consume(subscription)
    expect((await consume(subscription)).status).toBe(429)
    await change({ steady: { limit: 2, per: "hour" } })
    expect((await consume(subscription)).status).toBe(200)
    await change({ steady: { limit: 1, per: "hour" } })
    expect((await consume(subscription)).status).toBe(429)
    await change({})
    for (let repeat = 0; repeat < 3; repeat++) {
      const { status, headers } = await consume(subscription)
      expect(status).toBe(200)
      expect(headers.get("ratelimit-policy")).toMatch(/^"requests";/)
    }
  })

  it("never allow more than the burst to requests at the same time", async () => {
    const subscription = await subscribe(await makePlan({ steady: { limit: 7, per: "day" } }))
    const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await consume(subscription)).status))
    expect(statuses.filter((status) => status === 200)).toHaveLength(7)
    expect(statuses.filter((status) => status === 429)).toHaveLength(33)
    expect((await call("GET", `${subscription}/quotas`, { token: tokens.reader })).body.meters.requests.used).toBe(7)
  })

  it("leave out of the headers what clients would not accept", async () => {
    const limits = Array.from({ length: 10 }, (_, index) => [`l${index}-`.padEnd(64, "x"), hourly])
    const plans = []
    for (let plan = 0; plan < 6; plan++) {
      plans.push(
        await makePlan(Object.fromEntries(limits.map(([name, limit]) => [`${plan}${name}`.slice(0, 64), limit])))
      )
    }
    const { status, headers } = await consume(await subscribe(...plans))
    expect(status).toBe(200)
    for (const name of ["ratelimit-policy", "ratelimit"]) {
      expect(headers.get(name)?.length).toBeGreaterThan(2_000)
      expect(headers.get(name)?.length).toBeLessThanOrEqual(3_000)
    }
  })

  it("limit integers in headers to those of structured fields", async () => {
    const { body: plan } = await call("POST", `${bucket}/plans`, {
      body: planInput({ meters: { huge: { max: Number.MAX_SAFE_INTEGER }, half: { max: 2.5 } } })
    })
    const { headers } = await consume(await subscribe(plan), { huge: 1, half: 1 })
    expect(headers.get("ratelimit-policy")).toMatch(/"huge";q=999999999999999;w=\d+, "half";q=2;w=\d+$/)
    expect(headers.get("ratelimit")).toMatch(/"huge";r=999999999999999;t=\d+, "half";r=1;t=\d+$/)
  })
})
