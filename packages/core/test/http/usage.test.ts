import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { measureTurns } from "@tollgate/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores, tokens } from "../stores.ts"
import { type Call, type Client, makeClient } from "./client.ts"

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const reservationId = expect.stringMatching(/^rsv_[0-9A-Za-z]{24}$/)
const dayMs = 24 * 60 * 60 * 1000
const toIso = (millis: number): string => new Date(millis).toISOString()
/** The start of the present day in UTC. The tests compare it again, in case that midnight passes. */
const getToday = (): number => Math.floor(Date.now() / dayMs) * dayMs

describe.each(stores)("usage over HTTP, on %s", (_, store) => {
  let gate: Tollgate
  let call: Client
  beforeAll(async () => {
    gate = await createTollgate({ store, secret, tokens: grants })
    call = makeClient(gate.handler)
  })
  afterAll(() => gate.close())

  let count = 0
  const setUp = async (plan: object = {}, fields: object = {}) => {
    const bucket = `/v1/metering/${(await call("POST", "/v1/metering")).body.id}`
    const meters = { tokens: { max: 100 }, requests: { max: 10 } }
    const created = await call("POST", `${bucket}/plans`, {
      body: { label: "Plan", planExternalId: "plan", meters, ...plan }
    })
    const subscription = await call("POST", `${bucket}/subscriptions`, {
      body: {
        planIds: [created.body.id],
        planExternalIds: ["plan"],
        status: "active",
        type: "periodic",
        renewalStrategy: "monthly",
        region: "us-central1",
        customerKey: "alice",
        subscriptionExternalId: `usage-${++count}`,
        customerExternalId: "customer-1",
        ...fields
      }
    })
    expect([created.status, subscription.status]).toEqual([200, 200])
    const path = `${bucket}/subscriptions/${subscription.body.id}`
    const post = (suffix: string, body: object, options: Call = {}) =>
      call("POST", `${path}/quotas${suffix}`, { body, ...options })
    return {
      bucket,
      plan: `${bucket}/plans/${created.body.id}`,
      path,
      consume: (meters: object) => post("/consume", { meters }),
      reserve: (body: object, options?: Call) => post("/reserve", body, options),
      settle: (id: string, meters: object, options?: Call) => post(`/reservations/${id}/settle`, { meters }, options),
      release: (id: string, options?: Call) => call("DELETE", `${path}/quotas/reservations/${id}`, options),
      record: (body: object, options?: Call) => call("POST", `${bucket}/usage`, { body, ...options }),
      getUsed: async () => (await call("GET", `${path}/quotas`)).body.meters
    }
  }

  const expectProblem = (response: Awaited<ReturnType<Client>>, status: number, code: string, fields: object = {}) => {
    expect(response).toMatchObject({
      status,
      body: { type: `urn:tollgate:problem:${code}`, code, status, ...fields }
    })
    expect(response.headers.get("content-type")).toBe("application/problem+json")
  }

  it("shows a series of days by default, and echoes the widened range", async () => {
    const { bucket, path, consume } = await setUp()
    await consume({ requests: 3, tokens: 7 })
    await consume({ tokens: 1 })
    const today = getToday()
    const response = await call("GET", `${path}/usage`)
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("application/json")
    expect(response.headers.get("vary")).toContain("Accept")
    expect(Object.keys(response.body).sort()).toEqual(["data", "from", "step", "to"])
    expect(response.body).toMatchObject({ step: "day", from: toIso(today - 29 * dayMs), to: toIso(today + dayMs) })
    expect(response.body.data).toHaveLength(30)
    expect(response.body.data.at(-1)).toEqual({
      start: toIso(today),
      end: toIso(today + dayMs),
      meters: { requests: 3, tokens: 8 }
    })
    expect(response.body.data[0].meters).toEqual({ requests: 0, tokens: 0 })
    expect((await call("GET", `${bucket}/usage`)).body).toEqual(response.body)
    expect((await call("GET", `${bucket}/usage?step=day`)).body).toEqual(response.body)
    const one = await call("GET", `${path}/usage?meter=tokens&from=${toIso(today + 1)}&to=${toIso(today + 2)}`)
    expect(one.body).toEqual({
      step: "day",
      from: toIso(today),
      to: toIso(today + dayMs),
      data: [{ start: toIso(today), end: toIso(today + dayMs), meters: { tokens: 8 } }]
    })
    const periods = await call("GET", `${path}/usage?step=period&from=${toIso(Date.now())}`)
    const quotas = (await call("GET", `${path}/quotas`)).body
    expect(periods.body.data).toEqual([
      { start: quotas.periodStart, end: quotas.resetsOn, meters: { requests: 3, tokens: 8 } }
    ])
    const hours = await call("GET", `${path}/usage?step=hour`)
    expect(hours.body.data).toHaveLength(30)
    expect(getToday()).toBe(today)
  })

  it("rejects unknown steps, meters, parameters and ranges, naming the parameter", async () => {
    const { bucket, path } = await setUp()
    const year = (year: string) => `${year}-01-01T00:00:00Z`
    const invalid = [
      ["step=week", "step"],
      ["step=", "step"],
      ["step=day&step=hour", "step"],
      ["from=2026-01-01", "from"],
      ["from=2026-02-30T00:00:00Z", "from"],
      ["from=1", "from"],
      [`from=${year("2026")}&from=${year("2027")}`, "from"],
      ["to=yesterday", "to"],
      [`from=${year("2027")}&to=${year("2026")}`, "to"],
      [`from=${year("2020")}&to=${year("2026")}`, "from"],
      [`from=${year("0000")}`, "from"],
      ["to=9999-12-31T23:59:59Z", "to"],
      ["from=9999-12-31T23:59:59Z&to=9999-12-31T23:59:59.999Z", "to"],
      ["meter=", "meter"],
      ["meter=a%20b", "meter"],
      [`meter=${"x".repeat(65)}`, "meter"],
      ["meter=tokens&meter=requests", "meter"],
      ["meters=tokens", "meters"],
      ["limit=10", "limit"]
    ] as const
    for (const [query, parameter] of invalid) {
      for (const target of [`${path}/usage`, `${bucket}/usage`]) {
        const response = await call("GET", `${target}?${query}`)
        expectProblem(response, 400, "bad-request", { errors: [expect.objectContaining({ parameter })] })
      }
    }
    for (const step of ["hour", "period"]) {
      const response = await call("GET", `${bucket}/usage?step=${step}`)
      expectProblem(response, 400, "bad-request", { errors: [expect.objectContaining({ parameter: "step" })] })
    }
    for (const meter of ["other", "__proto__", "constructor", "toString"]) {
      for (const target of [`${path}/usage`, `${bucket}/usage`]) {
        expectProblem(await call("GET", `${target}?meter=${meter}`), 422, "unknown-meter", { meter })
      }
    }
  })

  it("answers ranges at the ends of time without an error of its own", async () => {
    const { bucket, path } = await setUp()
    const queries = [
      "to=0000-01-01T00:00:00Z",
      "step=period&to=0000-01-02T00:00:00Z",
      "step=period&from=0000-01-01T00:00:00Z&to=0000-06-01T00:00:00Z",
      "step=hour&to=0000-01-01T00:00:00.001Z",
      "step=period&to=9999-12-31T23:59:59Z",
      "step=hour&to=9999-12-31T22:00:00Z",
      "to=9999-12-30T00:00:00Z",
      "from=9999-12-30T00:00:00Z"
    ]
    for (const query of queries) {
      const response = await call("GET", `${path}/usage?${query}`)
      expect([200, 400], query).toContain(response.status)
      if (response.status === 400) continue
      for (const time of [response.body.from, response.body.to]) expect(time, query).toEqual(timestamp)
      expect(response.body.from <= response.body.to).toBe(true)
      if (!query.includes("step")) expect((await call("GET", `${bucket}/usage?${query}`)).body).toEqual(response.body)
    }
  })

  it("returns CSV if the client prefers it", async () => {
    const { bucket, path, consume } = await setUp({
      meters: { tokens: { max: 100 }, "-1": { max: 10 }, B: { max: 5 }, a: { max: 5 }, "10": { max: 9 } }
    })
    await consume({ tokens: 7, "-1": 2, "10": 3 })
    const today = getToday()
    const range = `from=${toIso(today - dayMs)}&to=${toIso(today + dayMs)}`
    const csv = await call("GET", `${path}/usage?${range}`, { headers: { accept: "text/csv" } })
    expect(csv.status).toBe(200)
    expect(csv.headers.get("content-type")).toMatch(/^text\/csv(;|$)/)
    expect(csv.headers.get("vary")).toContain("Accept")
    expect(csv.body).toBe(
      [
        "start,end,-1,10,B,a,tokens",
        `${toIso(today - dayMs)},${toIso(today)},0,0,0,0,0`,
        `${toIso(today)},${toIso(today + dayMs)},2,3,0,0,7`,
        ""
      ].join("\r\n")
    )
    const accept = async (accept: string, target = path) => {
      const response = await call("GET", `${target}/usage?${range}`, { headers: { accept } })
      expect(response.status).toBe(200)
      return response.headers.get("content-type")?.split(";")[0]
    }
    for (const preferred of [
      "Text/CSV",
      "text/csv;q=0.5",
      "application/json;q=0.1, text/csv",
      "text/csv;charset=utf-8",
      "text/html, text/csv;q=0.9, */*;q=0.1"
    ]) {
      expect(await accept(preferred), preferred).toBe("text/csv")
    }
    for (const other of [
      "*/*",
      "application/json",
      "text/csv;q=0",
      "text/csv;q=0.5, application/json",
      "text/html",
      "",
      ",;q=,,",
      "*/*, text/csv;q=0.1"
    ]) {
      expect(await accept(other), other).toBe("application/json")
    }
    expect(await accept("text/csv", bucket)).toBe("text/csv")
    const one = await call("GET", `${path}/usage?${range}&meter=a`, { headers: { accept: "text/csv" } })
    expect(one.body.split("\r\n")[0]).toBe("start,end,a")
    const none = await call("GET", `${path}/usage?from=${toIso(today)}&to=${toIso(today)}`, {
      headers: { accept: "text/csv" }
    })
    expect(none.body).toBe("start,end\r\n")
    // Errors are problems also for those who ask for CSV.
    const error = await call("GET", `${path}/usage?step=x`, { headers: { accept: "text/csv" } })
    expectProblem(error, 400, "bad-request")
  })

  it("reserves, settles and releases", async () => {
    const { path, reserve, settle, release, getUsed } = await setUp()
    const before = Date.now()
    const reserved = await reserve({ meters: { tokens: 40 } })
    expect(reserved.status).toBe(200)
    expect(reserved.body).toEqual({
      id: reservationId,
      meters: { tokens: 40 },
      expiresOn: timestamp,
      quotas: {
        meters: { tokens: { max: 100, used: 40, remaining: 60 } },
        periodStart: timestamp,
        resetsOn: timestamp
      }
    })
    const expiresIn = Date.parse(reserved.body.expiresOn) - before
    expect(expiresIn).toBeGreaterThanOrEqual(60_000)
    expect(expiresIn).toBeLessThan(90_000)
    expect(reserved.headers.get("ratelimit-policy")).toMatch(/^"tokens";q=100;w=\d+$/)
    expect(reserved.headers.get("ratelimit")).toMatch(/^"tokens";r=60;t=\d+$/)
    const settled = await settle(reserved.body.id, { tokens: 15 })
    expect(settled).toMatchObject({ status: 200 })
    expect(settled.body).toEqual({
      meters: { tokens: { max: 100, used: 15, remaining: 85 } },
      periodStart: timestamp,
      resetsOn: timestamp
    })
    expect(settled.headers.get("ratelimit")).toBeNull()
    expectProblem(await settle(reserved.body.id, { tokens: 15 }), 409, "reservation-settled")
    expectProblem(await release(reserved.body.id), 409, "reservation-settled")
    const other = (await reserve({ meters: { tokens: 85, requests: 10 }, expiresIn: 3_600 })).body
    expectProblem(await reserve({ meters: { requests: 1 } }), 429, "quota-exceeded", { meter: "requests", max: 10 })
    expect(await release(other.id)).toMatchObject({ status: 204, body: "" })
    expect(await getUsed()).toMatchObject({ tokens: { used: 15 }, requests: { used: 0 } })
    expect((await call("GET", `${path}/usage?step=hour`)).body.data.at(-1).meters.tokens).toBe(15)
  })

  it("rejects invalid reservations and settlements", async () => {
    const { path, reserve, settle, release, getUsed } = await setUp()
    const bodies = [
      [{}, "/meters"],
      [{ meters: {} }, "/meters"],
      [{ meters: { tokens: 0 } }, "/meters/tokens"],
      [{ meters: { tokens: -1 } }, "/meters/tokens"],
      [{ meters: { tokens: 1.5 } }, "/meters/tokens"],
      [{ meters: { tokens: 2 ** 53 } }, "/meters/tokens"],
      [{ meters: { tokens: "1" } }, "/meters/tokens"],
      [{ meters: { tokens: 1 }, expiresIn: 0 }, "/expiresIn"],
      [{ meters: { tokens: 1 }, expiresIn: 3_601 }, "/expiresIn"],
      [{ meters: { tokens: 1 }, expiresIn: 1.5 }, "/expiresIn"],
      [{ meters: { tokens: 1 }, expires: 1 }, "/expires"]
    ] as const
    for (const [body, pointer] of bodies) {
      expectProblem(await reserve(body), 400, "bad-request", { errors: [expect.objectContaining({ pointer })] })
    }
    expectProblem(await reserve({ meters: { other: 1 } }), 422, "unknown-meter", { meter: "other" })
    for (const expiresIn of [1, 3_600]) {
      expect((await reserve({ meters: { tokens: 1 }, expiresIn })).status).toBe(200)
    }
    const { id } = (await reserve({ meters: { tokens: 5 } })).body
    const settlements = [
      [{ tokens: 6 }, "/meters/tokens"],
      [{ requests: 1 }, "/meters/requests"],
      [{ tokens: -1 }, "/meters/tokens"],
      [{ tokens: 0.5 }, "/meters/tokens"],
      [{ "a b": 0 }, "/meters/a b"]
    ] as const
    for (const [meters, pointer] of settlements) {
      expectProblem(await settle(id, meters), 400, "bad-request", { errors: [expect.objectContaining({ pointer })] })
    }
    expectProblem(await settle(id, { tokens: 6, requests: 1 }), 400, "bad-request", {
      errors: ["/meters/tokens", "/meters/requests"].map((pointer) => expect.objectContaining({ pointer }))
    })
    expectProblem(await call("POST", `${path}/quotas/reservations/${id}/settle`, { body: {} }), 400, "bad-request")
    expectProblem(await release(`${id}?force=true`), 400, "bad-request")
    for (const unknown of ["rsv_x", "a%2Fb", "..%2F..", "x".repeat(1_000), "__proto__", "%F0%9F%92%A9"]) {
      expectProblem(await settle(unknown, {}), 404, "reservation-not-found")
      expectProblem(await release(unknown), 404, "reservation-not-found")
    }
    expect((await settle(id, { tokens: 5 })).status).toBe(200)
    expect((await getUsed()).requests.used).toBe(0)
  })

  it("records usage of a customer, also above the maximum", async () => {
    const { bucket, path, record, getUsed } = await setUp()
    const recorded = await record({ customerKey: "alice", meters: { requests: 15 } })
    expect(recorded.status).toBe(200)
    expect(recorded.body).toEqual({
      meters: { requests: { max: 10, used: 15, remaining: 0, overage: 5 } },
      periodStart: timestamp,
      resetsOn: timestamp
    })
    expectProblem(await record({ customerKey: "bob", meters: { requests: 1 } }), 404, "subscription-not-found")
    expectProblem(await record({ customerKey: "alice", meters: { other: 1 } }), 422, "unknown-meter")
    for (const [body, pointer] of [
      [{ meters: { requests: 1 } }, "/customerKey"],
      [{ customerKey: "alice" }, "/meters"],
      [{ customerKey: "alice", meters: { requests: 0 } }, "/meters/requests"],
      [{ customerKey: "alice", meters: { requests: 1 }, subscriptionId: "x" }, "/subscriptionId"]
    ] as const) {
      expectProblem(await record(body), 400, "bad-request", { errors: [expect.objectContaining({ pointer })] })
    }
    await call("PATCH", path, { body: { status: "canceled" } })
    expectProblem(await record({ customerKey: "alice", meters: { requests: 1 } }), 403, "subscription-not-active")
    expect((await getUsed()).requests.used).toBe(15)
    expect((await call("GET", `${bucket}/usage`)).body.data.at(-1).meters.requests).toBe(15)
  })

  it("does everything once per Idempotency-Key", async () => {
    const { path, reserve, settle, release, record, getUsed } = await setUp({
      rateLimits: { steady: { limit: 3, per: "day" } }
    })
    const withKey = (key: string) => ({ headers: { "idempotency-key": key } })
    const reserved = await reserve({ meters: { tokens: 50 } }, withKey("a"))
    expect(reserved.headers.get("ratelimit")).toMatch(/^"steady";r=2;t=\d+, "tokens";r=50;t=\d+$/)
    const replay = await reserve({ meters: { tokens: 50 } }, withKey("a"))
    expect(replay.body).toEqual(reserved.body)
    expect(replay.headers.get("ratelimit")).toBeNull()
    expectProblem(await reserve({ meters: { tokens: 51 } }, withKey("a")), 422, "idempotency-key-reused")
    const settled = await settle(reserved.body.id, { tokens: 20 }, withKey("a"))
    expect(settled.status).toBe(200)
    expect((await settle(reserved.body.id, { tokens: 20 }, withKey("a"))).body).toEqual(settled.body)
    expectProblem(await settle(reserved.body.id, { tokens: 21 }, withKey("a")), 422, "idempotency-key-reused")
    const other = (await reserve({ meters: { tokens: 1 } })).body.id
    for (let repeat = 0; repeat < 3; repeat++) expect((await release(other, withKey("b"))).status).toBe(204)
    const body = { customerKey: "alice", meters: { requests: 2 } }
    const recorded = await record(body, withKey("c"))
    expect((await record(body, withKey("c"))).body).toEqual(recorded.body)
    expectProblem(await record({ ...body, customerKey: "bob" }, withKey("c")), 422, "idempotency-key-reused")
    expect(await getUsed()).toMatchObject({ tokens: { used: 20 }, requests: { used: 2 } })
    // Two of three requests were taken: settling, releasing and replays cost nothing.
    expect((await reserve({ meters: { tokens: 1 } })).status).toBe(200)
    expectProblem(await reserve({ meters: { tokens: 1 } }), 429, "rate-limited", { limit: "steady" })
    expect((await call("DELETE", path)).status).toBe(204)
    expect((await settle(reserved.body.id, { tokens: 20 }, withKey("a"))).body).toEqual(settled.body)
    expect((await record(body, withKey("c"))).body).toEqual(recorded.body)
    expectProblem(await settle(reserved.body.id, { tokens: 20 }), 404, "subscription-not-found")
  })

  it("lets a token that may read get usage, and change nothing", async () => {
    const { bucket, path, reserve, settle, release, record } = await setUp()
    const reader = { token: tokens.reader }
    for (const target of [path, bucket]) expect((await call("GET", `${target}/usage`, reader)).status).toBe(200)
    const { id } = (await reserve({ meters: { tokens: 1 } })).body
    for (const response of [
      await reserve({ meters: { tokens: 1 } }, reader),
      await settle(id, {}, reader),
      await release(id, reader),
      await record({ customerKey: "alice", meters: { tokens: 1 } }, reader)
    ]) {
      expectProblem(response, 403, "forbidden")
    }
    const stranger = { token: tokens.otherAccount }
    for (const response of [
      await call("GET", `${path}/usage`, stranger),
      await call("GET", `${bucket}/usage`, stranger),
      await reserve({ meters: { tokens: 1 } }, stranger),
      await settle(id, {}, stranger),
      await release(id, stranger),
      await record({ customerKey: "alice", meters: { tokens: 1 } }, stranger)
    ]) {
      expectProblem(response, 404, "bucket-not-found")
    }
    expect((await call("GET", `${path}/usage`, { token: null })).status).toBe(401)
    expect((await settle(id, {})).status).toBe(200)
    expectProblem(await call("GET", `${bucket}/subscriptions/sbsc_x/usage`), 404, "subscription-not-found")
    expectProblem(await call("GET", "/v1/metering/bckt_x/usage"), 404, "bucket-not-found")
  })

  it("does not hold the event loop for the largest series, and asks for one meter beyond it", async () => {
    const meters = (from: number, length: number) =>
      Object.fromEntries(
        Array.from({ length }, (_, index) => [`meter-${from + index}`.padEnd(64, "-"), { max: 1_000 }])
      )
    const { bucket, path } = await setUp({ meters: meters(0, 50) })
    const other = await call("POST", `${bucket}/plans`, {
      body: { label: "Other", planExternalId: "other", meters: meters(50, 50) }
    })
    expect(other.status).toBe(200)
    expect((await call("PATCH", path, { body: { planExternalIds: ["plan", "other"] } })).status).toBe(200)
    const today = getToday()
    const range = `from=${toIso(today)}&to=${toIso(today + 400 * dayMs)}`
    for (const target of [path, bucket]) {
      const shares: Array<number> = []
      // Again, because other processes may have stopped this one.
      for (let attempt = 0; attempt < 10 && !shares.some((share) => share < 0.4); attempt++) {
        const request = new Request(`http://gate${target}/usage?${range}`, {
          headers: { authorization: `Bearer ${tokens.writer}` }
        })
        const { longest, total, result } = await measureTurns(async () => (await gate.handler(request)).text())
        const { data } = JSON.parse(result)
        expect(data).toHaveLength(400)
        expect(Object.keys(data[399].meters)).toHaveLength(100)
        shares.push(longest / total)
      }
      expect(Math.min(...shares)).toBeLessThan(0.4)
    }
    await call("POST", `${bucket}/plans`, { body: { label: "One", planExternalId: "one", meters: meters(100, 1) } })
    await call("PATCH", path, { body: { planExternalIds: ["plan", "other", "one"] } })
    for (const target of [path, bucket]) {
      const refused = await call("GET", `${target}/usage?${range}`)
      expectProblem(refused, 400, "bad-request", { errors: [expect.objectContaining({ parameter: "meter" })] })
      const one = await call("GET", `${target}/usage?${range}&meter=${"meter-100".padEnd(64, "-")}`)
      expect(one.body.data[0].meters).toEqual({ ["meter-100".padEnd(64, "-")]: 0 })
    }
  })
})

describe("the client", () => {
  it("calls every operation on usage", async () => {
    const gate = await createTollgate({ store: MemoryStore.layer, secret, tokens: grants })
    const server = createServer(toNodeHandler(gate))
    await new Promise<void>((resolve) => server.listen(0, resolve))
    try {
      const baseUrl = `http://localhost:${(server.address() as AddressInfo).port}`
      for (const account of [createClient({ baseUrl, token: tokens.writer }).account("acme"), gate.account("acme")]) {
        const { plans, subscriptions, usage } = account.meteringBucket((await account.meteringBuckets.create()).id)
        const plan = await plans.create({ label: "Plan", planExternalId: "plan", meters: { tokens: { max: 100 } } })
        const { id } = await subscriptions.create({
          planIds: [plan.id],
          planExternalIds: ["plan"],
          status: "active",
          type: "periodic",
          renewalStrategy: "monthly",
          region: "us-central1",
          customerKey: "alice",
          subscriptionExternalId: "s",
          customerExternalId: "c"
        })
        const reserved = await usage.reserve(id, { meters: { tokens: 10 }, expiresIn: 30 }, { idempotencyKey: "a" })
        expect(reserved).toMatchObject({ meters: { tokens: 10 }, quotas: { meters: { tokens: { used: 10 } } } })
        const settled = await usage.settle(id, reserved.id, { meters: { tokens: 4 } })
        expect(settled.meters["tokens"]).toEqual({ max: 100, used: 4, remaining: 96 })
        const other = await usage.reserve(id, { meters: { tokens: 10 } })
        expect(await usage.release(id, other.id)).toBeUndefined()
        await expect(usage.release(id, other.id)).rejects.toMatchObject({ code: "reservation-settled" })
        await expect(usage.reserve(id, { meters: { tokens: 1_000 } })).rejects.toMatchObject({ code: "quota-exceeded" })
        const recorded = await usage.record({ customerKey: "alice", meters: { tokens: 200 } })
        expect(recorded.meters["tokens"]?.used).toBe(204)
        const series = await usage.series(id, { step: "hour", meter: "tokens" })
        expect(series).toMatchObject({ step: "hour", from: timestamp, to: timestamp })
        expect(series.data.reduce((sum, { meters }) => sum + (meters["tokens"] ?? 0), 0)).toBe(204)
        const totals = await usage.totals({ from: toIso(getToday()) })
        expect(totals.data.at(-1)?.meters).toEqual({ tokens: 204 })
        await expect(usage.series(id, { meter: "other" })).rejects.toMatchObject({ code: "unknown-meter" })
        await expect(usage.series(id, { step: "week" as never })).rejects.toMatchObject({ code: "bad-request" })
      }
    } finally {
      server.close()
      await gate.close()
    }
  })

  it("finds CSV in the OpenAPI description of both series", async () => {
    const gate = await createTollgate({ store: MemoryStore.layer, secret, tokens: grants })
    const { paths } = (await makeClient(gate.handler)("GET", "/v1/openapi.json", { token: null })).body
    for (const path of [
      "/v1/metering/{bucketId}/usage",
      "/v1/metering/{bucketId}/subscriptions/{subscriptionId}/usage"
    ]) {
      expect(Object.keys(paths[path].get.responses["200"].content).sort()).toEqual(["application/json", "text/csv"])
    }
    await gate.close()
  })
})
