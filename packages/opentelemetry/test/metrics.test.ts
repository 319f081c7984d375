/**
 * The metrics of OpenTelemetry and of Prometheus are exactly the numbers of calls, also under load.
 */
import { describe, expect, it } from "vitest"
import { tokens } from "../../core/test/secrets.ts"
import {
  countBy,
  groupBy,
  openSqlite,
  readText,
  repeat,
  startGate,
  sumSeries
} from "../../core/test/telemetry/gates.ts"
import { registerMetrics } from "./metering.ts"

describe("the metrics of decisions", () => {
  it("are the numbers of concurrent calls by outcome and reason", async () => {
    const { readSeries } = registerMetrics()
    const gate = await startGate({ store: await openSqlite() })
    const acme = gate.account("acme")
    const production = acme.keyBucket("production")
    const createKey = async (name: string) => {
      await production.consumers.create({ name })
      return (await production.keys.create(name, { scopes: ["orders:read"] })).key ?? ""
    }
    const [alice, bob, removed] = [await createKey("alice"), await createKey("bob"), await createKey("removed")]
    await production.consumers.remove("removed")
    const billing = await acme.meteringBuckets.ensure("billing")
    await billing.plans.create({ planExternalId: "small", meters: { requests: { max: 30 } } })
    await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["small"] })

    const rateLimit = { limit: 40, per: "day" } as const
    const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }
    const attempts = [
      ...repeat(200, () => production.authorize(alice)),
      ...repeat(100, () => production.authorize(alice, { rateLimit })),
      ...repeat(100, () => production.authorize(alice, { metering })),
      ...repeat(20, () => production.authorize(bob, { metering })),
      ...repeat(50, () => production.authorize(removed)),
      ...repeat(25, () => production.authorize("nonsense")),
      ...repeat(60, () => production.authorize(bob, { scopes: ["orders:write"] })),
      ...repeat(10, () => production.authorize(alice, { metering: { ...metering, meteringBucketId: "missing" } })),
      ...repeat(5, () => production.authorize(alice, { scopes: "not a list" as never }))
    ]
    const decisions = await Promise.all(
      attempts.map((attempt) =>
        attempt.then(
          (decision) => (decision.allowed ? "allowed " : `refused ${decision.reason}`),
          (error: { readonly code: string }) => `error ${error.code}`
        )
      )
    )
    const expected = countBy(decisions)
    expect(expected).toMatchObject({
      "allowed ": 270,
      "refused rate-limited": 60,
      "refused over-quota": 70,
      "refused no-subscription": 20,
      "refused missing-scope": 60
    })
    expect(decisions.filter((decision) => decision.startsWith("error "))).toHaveLength(15)

    const attributes = ["tollgate.outcome", "tollgate.reason"]
    expect(groupBy(await readSeries("tollgate.authorize"), ...attributes)).toEqual(expected)
    expect(groupBy(await readText(gate, "tollgate_authorize_total"), ...attributes)).toEqual(expected)
    const byOutcome = countBy(decisions.map((decision) => decision.split(" ")[0] ?? ""))
    const durations = [
      await readSeries("tollgate.authorize.duration"),
      await readText(gate, "tollgate_authorize_duration_seconds_count")
    ]
    for (const series of durations) expect(groupBy(series, "tollgate.outcome")).toEqual(byOutcome)
  })

  it("count look-ups in the cache of verified keys", async () => {
    const { readSeries } = registerMetrics()
    const gate = await startGate({ verifyCache: { ttl: 3_600_000 } })
    const production = gate.account("acme").keyBucket("production")
    const { apiKeys } = await production.consumers.create({ name: "alice", apiKeys: [{}, {}, {}] })
    const keys = (apiKeys ?? []).map(({ key }) => key ?? "")
    for (const key of keys) await production.verify(key)
    await Promise.all(repeat(100, (index) => production.authorize(keys[index % keys.length])))
    const expected = { hit: 100, miss: 3 }
    expect(groupBy(await readSeries("tollgate.verify_cache.lookups"), "tollgate.result")).toEqual(expected)
    expect(groupBy(await readText(gate, "tollgate_verify_cache_lookups_total"), "tollgate.result")).toEqual(expected)
    expect(await readSeries("tollgate.verify_cache.entries")).toEqual([{ attributes: {}, value: 3 }])
    expect(sumSeries(await readText(gate, "tollgate_verify_cache_entries"))).toBe(3)
  })
})

describe("the metrics of the HTTP API", () => {
  it("are the numbers of concurrent requests by method, route and status", async () => {
    const { readSeries } = registerMetrics()
    const gate = await startGate()
    await gate.account("acme").keyBucket("b").consumers.create({ name: "alice" })
    const path = "/v1/accounts/acme/key-buckets/b/consumers"
    const send = async (method: string, path: string, { token = tokens.writer, body = "" } = {}) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
      const request = new Request(`http://gate${path}`, { method, headers, ...(body === "" ? {} : { body }) })
      return (await gate.handler(request)).status
    }
    const route = "/v1/accounts/{accountName}/key-buckets/{bucketName}/consumers"
    const groups = [
      [`GET ${route}/{consumerName} 200`, 90, () => send("GET", `${path}/alice`)],
      [`HEAD ${route}/{consumerName} 200`, 5, () => send("HEAD", `${path}/alice`)],
      [`GET ${route}/{consumerName} 404`, 40, (index: number) => send("GET", `${path}/nobody-${index}`)],
      [`POST ${route} 200`, 50, (index: number) => send("POST", path, { body: `{"name":"c-${index}"}` })],
      [`POST ${route} 409`, 15, () => send("POST", path, { body: `{"name":"alice"}` })],
      [`POST ${route} 400`, 30, () => send("POST", path, { body: "{" })],
      [`GET ${route} 401`, 20, () => send("GET", path, { token: "unknown" })],
      [`GET ${route} 403`, 25, () => send("GET", path, { token: tokens.otherAccount })],
      ["POST /v1/metering 200", 12, () => send("POST", "/v1/metering", { body: `{"accountName":"acme"}` })],
      ["GET  404", 35, (index: number) => send("GET", `/v1/made-up/${index}`)],
      ["GET  400", 7, () => send("GET", "/v1/%zz")],
      ["DELETE  405", 9, () => send("DELETE", path)],
      ["_OTHER  405", 11, () => send("PURGE", path)]
    ] as const
    const statuses = await Promise.all(
      groups.flatMap(([name, times, call]) =>
        repeat(times, async (index) => expect(`${await call(index)}`).toBe(name.split(" ").at(-1)))
      )
    )
    expect(statuses).toHaveLength(349)
    const expected = Object.fromEntries(groups.map(([name, times]) => [name, times]))
    const attributes = ["http.request.method", "http.route", "http.response.status_code"]
    expect(groupBy(await readSeries("http.server.request.duration"), ...attributes)).toEqual(expected)
    expect(groupBy(await readText(gate, "http_server_request_duration_seconds_count"), ...attributes)).toEqual(expected)
    expect(sumSeries(await readSeries("http.server.active_requests"))).toBe(0)
  })

  it("count requests whose client has disconnected, with the status 499", async () => {
    const { readSeries } = registerMetrics()
    const never = new Promise<never>(() => undefined)
    const gate = await startGate({ tokens: undefined, authenticate: () => never })
    const controllers = repeat(10, () => new AbortController())
    const responses = controllers.map(({ signal }) => gate.handler(new Request("http://gate/v1/accounts", { signal })))
    await expect.poll(async () => sumSeries(await readSeries("http.server.active_requests"))).toBe(10)
    for (const controller of controllers) controller.abort()
    await Promise.allSettled(responses)
    const attributes = ["http.request.method", "http.route", "http.response.status_code"]
    const expected = { "GET /v1/accounts 499": 10 }
    expect(groupBy(await readSeries("http.server.request.duration"), ...attributes)).toEqual(expected)
    expect(sumSeries(await readSeries("http.server.active_requests"))).toBe(0)
  })
})
