/**
 * `POST …/authorize`: a decision for a server that Tollgate does not run in, and what a protected route would have answered.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createClient } from "@tollgate/core/client"
import { requireApiKey, tollgate } from "@tollgate/express"
import type { RequireApiKeyOptions } from "@tollgate/protect"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall } from "@tollgate/testing"
import express from "express"
import { describe, expect, it } from "vitest"
import { freshAccount, openGate, useGate } from "./eventGates.ts"
import { stores } from "./stores.ts"

const tokens = [
  { token: "token-of-the-edge-servers", account: "*", permissions: ["authorize"] },
  { token: "token-that-writes-all-things", account: "*", access: "write" },
  { token: "token-that-reads-all-things", account: "*", access: "read" },
  { token: "token-without-that-permission", account: "*", permissions: ["keys:write", "consumers:write"] },
  { token: "token-of-some-other-account", account: "other" }
] as const
const [edge, writer, reader, unrelated, other] = tokens

/** Leaves out what depends on the moment of the request. */
const withoutTimes = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/;t=\d+/g, ";t=T")
      .replaceAll(/"retry-after":"\d+"/g, '"retry-after":"T"')
      .replaceAll(/"retryAfterMs":\d+/g, '"retryAfterMs":"T"')
      .replaceAll(/in \d+ ms/g, "in T ms")
      // Each subscription has periods of its own.
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "T")
  )

const comparedHeaders = [
  "content-type",
  "x-request-id",
  "www-authenticate",
  "retry-after",
  "ratelimit",
  "ratelimit-policy"
]

describe.each(stores)("authorize over HTTP, on %s", (_, layer) => {
  const { store } = useGate(layer)

  /** A server with the HTTP API and a protected route, consumers with keys in all states, and a plan of 3 requests. */
  const setUp = async (testStore = store()) => {
    const gate = await openGate(testStore, { tokens })
    const accountName = freshAccount()
    const account = gate.account(accountName)
    const production = account.keyBucket("production")
    const billing = await account.meteringBuckets.ensure("default")
    await billing.plans.create({ planExternalId: "free", meters: { requests: { max: 3 }, tokens: { max: 100 } } })
    let options: RequireApiKeyOptions = {}
    const app = express()
      .use("/api", tollgate(gate))
      .get("/route", (req, res, next) => {
        const sendAnswer = () => void res.type("application/json").send("{}")
        return requireApiKey(production, options)(req, res, (error?: unknown) => (error ? next(error) : sendAnswer()))
      })
    const server = createServer(app).listen(0, "127.0.0.1")
    await once(server, "listening")
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

    const makeKey = async (name: string, fields: object = {}, status?: "active" | "inactive") => {
      const created = await production.consumers.create({ name, apiKeys: [fields] })
      if (status !== undefined) {
        await billing.subscriptions.create({ customerKey: name, planExternalIds: ["free"], status })
      }
      return created.apiKeys?.[0]?.key ?? ""
    }
    const post = async (body: unknown, { token = edge.token as string, headers = {}, path = accountName } = {}) => {
      const response = await fetch(`${url}/api/v1/accounts/${path}/key-buckets/production/authorize`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "x-request-id": "the-request", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body)
      })
      // biome-ignore lint/suspicious/noExplicitAny: tests read JSON of any shape
      const json: any = await response.json()
      return { status: response.status, headers: response.headers, body: json }
    }
    const getRoute = async (key: string, routeOptions: RequireApiKeyOptions) => {
      options = routeOptions
      const response = await fetch(`${url}/route`, {
        headers: { authorization: `Bearer ${key}`, "x-request-id": "the-request" }
      })
      const headers = comparedHeaders.flatMap((name) => {
        const value = response.headers.get(name)
        // Express adds the charset.
        return value === null || (response.ok && name === "content-type") ? [] : [[name, value.split("; charset")[0]]]
      })
      const problem = await response.json()
      return { status: response.status, headers: Object.fromEntries(headers), ...(response.ok ? {} : { problem }) }
    }
    const close = async () => {
      server.closeAllConnections()
      server.close()
      await gate.close()
    }
    return { gate, accountName, account, production, billing, url, makeKey, post, getRoute, close }
  }

  it("answers what a protected Express route answers, for each reason", async () => {
    const { production, billing, makeKey, post, getRoute, close } = await setUp()
    const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }
    const limit = { name: "steady", limit: 2, per: "day" } as const
    const both = { rateLimits: [limit], metering }
    /** A key for the route and another for the API, so that the one does not use up what the other has. */
    const makePair = async (name: string, fields?: object, status?: "active" | "inactive") => [
      await makeKey(`${name}-route`, fields, status),
      await makeKey(`${name}-api`, fields, status)
    ]
    const disabled = await makePair("suspended")
    for (const name of ["suspended-route", "suspended-api"]) await production.consumers.update(name, { disabled: true })
    const limited = await makePair("limited", {}, "active")
    const metered = await makePair("metered", {}, "active")
    const cases: ReadonlyArray<readonly [reason: string | undefined, ReadonlyArray<string>, object]> = [
      ["malformed-key", ["short", "short"], {}],
      ["unknown-key", ["unknown-but-well-formed", "unknown-but-well-formed"], both],
      ["expired-key", await makePair("expired", { expiresOn: "2001-01-01T00:00:00Z" }), {}],
      ["disabled-key", await makePair("disabled", { disabled: true }), {}],
      ["disabled-consumer", disabled, both],
      ["ip-not-allowed", await makePair("elsewhere", { ipAllow: ["203.0.113.0/24"] }), both],
      ["missing-scope", await makePair("scoped", { scopes: ["a"] }), { ...both, scopes: ["a", "b", "c"] }],
      ["no-subscription", await makePair("stranger"), both],
      ["subscription-not-active", await makePair("paused", {}, "inactive"), both],
      [undefined, await makePair("plain"), {}],
      [undefined, limited, both],
      [undefined, limited, both],
      ["rate-limited", limited, both],
      [undefined, metered, { metering: { ...metering, meters: { requests: 3, tokens: 2 } } }],
      ["over-quota", metered, { metering }]
    ]
    for (const [reason, [routeKey = "", apiKey = ""], options] of cases) {
      const route = await getRoute(routeKey, options)
      const { status, headers, body } = await post({ key: apiKey, ip: "127.0.0.1", ...options })
      expect([reason, status, body.allowed, body.reason]).toEqual([reason, 200, reason === undefined, reason])
      const answered = { status: body.status, headers: body.headers, ...(body.problem && { problem: body.problem }) }
      expect([reason, withoutTimes(answered)]).toEqual([reason, withoutTimes(route)])
      expect(headers.has("ratelimit") || headers.has("ratelimit-policy") || headers.has("retry-after")).toBe(false)
    }
    await close()
  })

  it("tells what the decision in process tells", async () => {
    const { production, billing, makeKey, post, close } = await setUp()
    const key = await makeKey("alice", { scopes: ["orders:*"] }, "active")
    const metering = { meteringBucketId: billing.id }
    const options = { scopes: ["orders:read"], metering }
    const { status, headers, ...told } = (await post({ key, ...options })).body
    expect([status, headers, told]).toEqual([200, {}, await production.authorize(key, options)])
    expect(told).toMatchObject({ allowed: true, consumer: { name: "alice" }, subscription: { status: "active" } })
    const lacking = (await post({ key, scopes: ["users:read"] })).body
    expect(lacking).toMatchObject({ reason: "missing-scope", scopes: ["users:read"], status: 403 })
    // A caller without `decisions:read` does not learn here whose key it is, as in process.
    const disabled = (await post({ key: await makeKey("bob", { disabled: true }) })).body
    expect(Object.keys(disabled)).toEqual(["allowed", "reason", "status", "headers", "problem"])
    await close()
  })

  it("reserves, to be settled at what was used, and counts for another customer", async () => {
    const { production, billing, accountName, url, makeKey, post, close } = await setUp()
    const key = await makeKey("alice")
    const subscription = await billing.subscriptions.create({ customerKey: "team", planExternalIds: ["free"] })
    const metering = { meteringBucketId: billing.id }
    const reserve = { meters: { tokens: 60 }, expiresIn: 300 }
    const used = async () => (await billing.usage.quotas(subscription.id)).meters["tokens"]?.used
    expect((await post({ key, metering, reserve })).body.reason).toBe("no-subscription")

    const { body } = await post({ key, metering, reserve, customer: "team" })
    expect(body).toMatchObject({ allowed: true, subscription: { id: subscription.id }, status: 200 })
    expect(body.quotas.meters.tokens).toEqual({ max: 100, used: 60, remaining: 40 })
    expect(body.reservation).toEqual({ id: expect.stringMatching(/^rsv_/), expiresOn: expect.any(String) })
    expect(body.headers.ratelimit).toMatch(/^"tokens";r=40;t=\d+$/)
    expect((await post({ key, metering, reserve, customer: "team" })).body).toMatchObject({
      reason: "over-quota",
      status: 429
    })
    const path = `${url}/api/v1/metering/${billing.id}/subscriptions/${subscription.id}/quotas/reservations`
    const settled = await fetch(`${path}/${body.reservation.id}/settle`, {
      method: "POST",
      headers: { authorization: `Bearer ${writer.token}` },
      body: JSON.stringify({ meters: { tokens: 10 } })
    })
    expect([settled.status, await used()]).toEqual([200, 10])

    const local = await production.authorize(key, { metering, reserve: { meters: { tokens: 5 } }, customer: "team" })
    const { id = "", expiresOn = "" } = (local.allowed && local.reservation) || {}
    expect([await used(), Math.round((Date.parse(expiresOn) - Date.now()) / 20_000)]).toEqual([15, 3])
    await billing.usage.release(subscription.id, id)
    expect(await used()).toBe(10)
    for (const customer of ["team", "nobody", "team"]) {
      const counted = { ...metering, meters: { tokens: 1 } }
      expect((await production.authorize(key, { metering: counted, customer })).allowed).toBe(customer === "team")
    }
    expect(await used()).toBe(12)

    const client = createClient({ baseUrl: `${url}/api`, token: edge.token }).account(accountName)
    const remote = await client
      .keyBucket("production")
      .authorize(key, { metering: { ...metering, meters: { tokens: 1 } }, customer: "team" })
    expect(remote).toMatchObject({ allowed: true, status: 200, quotas: { meters: { tokens: { used: 13 } } } })
    expect(await client.keyBucket("production").authorize(undefined)).toMatchObject({
      reason: "malformed-key",
      status: 401
    })
    await close()
  })

  it("counts a request with an Idempotency-Key once, and another body is 422", async () => {
    const { production, billing, makeKey, post, close } = await setUp()
    const key = await makeKey("alice", { scopes: ["a"] }, "active")
    const headers = { "idempotency-key": "request-1" }
    const limit = { name: "steady", limit: 5, per: "day" }
    const metering = { meteringBucketId: billing.id, meters: { requests: 3 } }
    const bodies = [
      { key, rateLimits: [limit], metering },
      { key, rateLimits: [{ ...limit, name: "alone" }] },
      { key, rateLimits: [{ ...limit, name: "there" }], limitsIn: billing.id },
      { key, metering: { meteringBucketId: billing.id }, reserve: { meters: { tokens: 30 } } },
      { key, scopes: ["a"] }
    ]
    const answers = []
    for (const [index, body] of bodies.entries()) {
      const headers = { "idempotency-key": `request-${index}` }
      const first = await post(body, { headers })
      expect([index, first.body.allowed]).toEqual([index, true])
      answers.push(first.body)
      for (let retry = 0; retry < 3; retry++) {
        const retried = await post(body, { headers })
        expect([index, retried.status, withoutTimes(retried.body)]).toEqual([index, 200, withoutTimes(first.body)])
      }
      const changed = await post({ ...body, ip: "127.0.0.1" }, { headers })
      expect([index, changed.status, changed.body.code]).toEqual([index, 422, "idempotency-key-reused"])
    }
    expect(answers[1].rateLimits).toMatchObject([{ name: "alone", remaining: 4 }])
    const { requests, tokens } = (await billing.usage.quotas(answers[0].subscription.id)).meters
    expect([requests?.used, tokens?.used]).toEqual([3, 30])
    // The first answer also after the quota is used up, and after the key is disabled.
    expect((await post({ key, metering }, {})).body).toMatchObject({ reason: "over-quota" })
    await production.consumers.update("alice", { disabled: true })
    const late = await post(bodies[0], { headers: { "idempotency-key": "request-0" } })
    expect(withoutTimes(late.body)).toEqual(withoutTimes(answers[0]))
    // A refusal is not remembered.
    expect((await post({ key }, { headers })).status).toBe(422)
    expect((await post({ key }, { headers: { "idempotency-key": "new" } })).body.reason).toBe("disabled-consumer")
    await production.consumers.update("alice", { disabled: false })
    expect((await post({ key }, { headers: { "idempotency-key": "new" } })).body.allowed).toBe(true)
    await close()
  })

  it("counts once, too, if the reply of the store was lost", async () => {
    const faulty = makeFaultyStore(store(), isBackgroundCall)
    const { billing, makeKey, post, close } = await setUp(faulty.store)
    const key = await makeKey("alice", {}, "active")
    const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }
    const body = { key, rateLimits: [{ name: "steady", limit: 5, per: "day" }], metering }
    expect((await post(body)).body.quotas.meters.requests.used).toBe(1)
    const headers = { "idempotency-key": "lost" }
    // The first call reads the key; the second is the commit.
    faulty.injectAt(2, "lose-reply")
    expect((await post(body, { headers })).status).toBe(503)
    faulty.injectAt(0, "fail")
    for (let retry = 0; retry < 2; retry++) {
      expect((await post(body, { headers })).body).toMatchObject({
        allowed: true,
        quotas: { meters: { requests: { used: 2 } } },
        rateLimits: [{ remaining: 3 }]
      })
    }
    await close()
  })

  it("is only for callers with the permission, in their account", async () => {
    const { billing, makeKey, post, close } = await setUp()
    const key = await makeKey("alice", {}, "active")
    expect((await post({ key }, { token: writer.token })).body.allowed).toBe(true)
    for (const { token } of [reader, unrelated]) {
      expect(await post({ key }, { token })).toMatchObject({ status: 403, body: { permission: "authorize" } })
    }
    expect((await post({ key }, { token: other.token })).status).toBe(403)
    expect((await post({ key }, { token: "no-such-token-at-all-here" })).status).toBe(401)
    // A key of another account is unknown there, and so is its metering bucket.
    expect((await post({ key }, { token: other.token, path: "other" })).body.reason).toBe("unknown-key")
    const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }
    const theirs = await setUp()
    const theirKey = await theirs.makeKey("mallory")
    for (const body of [{ metering }, { rateLimits: [{ name: "a", limit: 1, per: "day" }], limitsIn: billing.id }]) {
      const refused = await theirs.post({ key: theirKey, ...body })
      expect([refused.status, refused.body.code]).toEqual([404, "bucket-not-found"])
    }
    await theirs.close()
    await close()
  })

  it("names what is wrong with a body, and takes nothing then", async () => {
    const { billing, makeKey, post, close } = await setUp()
    const key = await makeKey("alice", {}, "active")
    const meteringBucketId = billing.id
    const limit = { name: "steady", limit: 2, per: "day" }
    const cases: ReadonlyArray<readonly [body: unknown, place: string]> = [
      [{}, "/key"],
      [{ key: 5 }, "/key"],
      [{ key, scope: ["a"] }, "/scope"],
      [{ key, rateLimit: limit }, "/rateLimit"],
      [{ key, scopes: ["*"] }, "/scopes/0"],
      [{ key, rateLimits: [{ ...limit, limit: 0 }] }, "/rateLimits/0/limit"],
      [{ key, rateLimits: [{ ...limit, cost: 3 }] }, "/rateLimits/0/cost"],
      [{ key, rateLimits: [limit, { ...limit, limit: 3 }] }, "/rateLimits/1/name"],
      [{ key, rateLimits: [{ limit: 2, per: "day" }] }, "/rateLimits/0/name"],
      [{ key, metering: { meteringBucketId, meters: { requests: 0 } } }, "/metering/meters/requests"],
      [{ key, metering: { meters: { requests: 1 } } }, "/metering/meteringBucketId"],
      [{ key, metering: { meteringBucketId }, limitsIn: "elsewhere" }, "/limitsIn"],
      [{ key, reserve: { meters: { tokens: 1 } } }, "/reserve"],
      [{ key, metering: { meteringBucketId, meters: { tokens: 1 } }, reserve: { meters: { tokens: 1 } } }, "/reserve"],
      [
        { key, metering: { meteringBucketId }, reserve: { meters: { tokens: 1 }, expiresIn: 3_601 } },
        "/reserve/expiresIn"
      ],
      [{ key, metering: { meteringBucketId }, reserve: { meters: {} } }, "/reserve/meters"],
      [{ key, customer: "team" }, "/customer"],
      [{ key, metering: { meteringBucketId }, customer: "" }, "/customer"],
      [{ key, ip: 5 }, "/ip"]
    ]
    for (const [body, place] of cases) {
      const { status, body: problem } = await post(body)
      expect([place, status, problem.errors?.map(({ pointer }: { pointer?: string }) => pointer)]).toEqual([
        place,
        400,
        [place]
      ])
    }
    const unknownMeter = await post({ key, metering: { meteringBucketId, meters: { nothing: 1 } } })
    expect([unknownMeter.status, unknownMeter.body.code]).toEqual([422, "unknown-meter"])
    expect((await post("{")).status).toBe(400)
    expect((await post("[]")).status).toBe(400)
    expect((await post({ key: "k".repeat(16_384) })).status).toBe(413)
    expect((await post({ key: "k".repeat(16_000) })).body.reason).toBe("malformed-key")
    const { body } = await post({ key, rateLimits: [limit] })
    expect(body.rateLimits).toMatchObject([{ remaining: 1 }])
    await close()
  })
})
