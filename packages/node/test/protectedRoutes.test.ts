/**
 * `requireApiKey` behaves the same in every framework.
 */
import { ConfigurationError, createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import type { RequireApiKeyOptions } from "@tollgate/fetch"
import { MemoryStore } from "@tollgate/memory"
import { type FaultyStore, makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall, makeSubscription } from "@tollgate/testing"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { frameworks, type ProtectedRoute } from "./protectingFrameworks.ts"

let gate: Tollgate
let faulty: FaultyStore
let production: LocalKeyBucketHandle
let meteringBucketId: string
let planId: string

beforeAll(async () => {
  faulty = makeFaultyStore(MemoryStore.open(), isBackgroundCall)
  gate = await createTollgate({ store: faulty.store, secret: "test-secret-with-at-least-32-characters" })
  production = gate.account("acme").keyBucket("production")
  const billing = await gate.account("acme").meteringBuckets.ensure("billing")
  meteringBucketId = billing.id
  planId = (await billing.plans.create({ label: "P", planExternalId: "p", meters: { requests: { max: 2 } } })).id
})
afterAll(() => gate.close())

const subscribe = (customerKey: string, status: "active" | "unpaid" = "active") =>
  gate
    .account("acme")
    .meteringBucket(meteringBucketId)
    .subscriptions.create(
      makeSubscription(planId, "p", { customerKey, status, subscriptionExternalId: `${customerKey} ${status}` })
    )

let consumerCount = 0
const createConsumer = async () => {
  const name = `consumer-${++consumerCount}`
  const input = { name, tags: { plan: "pro" }, metadata: { seats: 3 } }
  const { apiKeys } = await production.consumers.create(input, { withApiKey: true })
  return { name, key: apiKeys?.[0]?.key ?? "" }
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const getMetering = (meters: Readonly<Record<string, number>> = { requests: 1 }) => ({
  metering: { meteringBucketId, meters }
})

describe.each(frameworks)("requireApiKey in $name", ({ serve, requireApiKey }) => {
  let key: string
  let name: string
  let handled: number
  const routes: Array<ProtectedRoute> = []
  beforeEach(async () => {
    ;({ key, name } = await createConsumer())
    handled = 0
  })
  afterEach(() => Promise.all(routes.splice(0).map(({ close }) => close())))

  const start = async (options?: RequireApiKeyOptions) => {
    const route = await serve(production, options, () => {
      handled++
    })
    routes.push(route)
    return (headers: Readonly<Record<string, string>> = {}, query = "") => route.call(query, headers)
  }
  const expectProblem = async (response: Response, problem: Readonly<Record<string, unknown>>) => {
    expect(response.headers.get("content-type")).toContain("application/problem+json")
    expect(response.status).toBe(problem["status"])
    const instance = response.headers.get("x-request-id")
    expect(instance).toMatch(/^[0-9a-f]{22}$/)
    expect(await response.json()).toMatchObject({ ...problem, instance })
    expect(handled).toBe(0)
  }

  it("gives the route the consumer of a valid key", async () => {
    const response = await (await start())(bearer(key))
    expect(response.status).toBe(200)
    expect(response.headers.get("ratelimit")).toBeNull()
    expect(await response.json()).toEqual({
      consumer: {
        name,
        id: expect.stringMatching(/^csmr_/),
        keyId: expect.stringMatching(/^key_/),
        tags: { plan: "pro" },
        metadata: { seats: 3 },
        remaining: {}
      }
    })
  })

  it("responds with 401 without a key, and with a wrong key", async () => {
    const call = await start()
    const otherBucket = gate.account("acme").keyBucket("staging")
    const stranger = await otherBucket.consumers.create({ name }, { withApiKey: true })
    for (const headers of [
      {},
      bearer("wrong"),
      bearer(`${key}x`),
      { authorization: key },
      bearer(stranger.apiKeys?.[0]?.key ?? "")
    ]) {
      const response = await call(headers)
      expect(response.headers.get("www-authenticate")).toBe("Bearer")
      await expectProblem(response, { status: 401, code: "unauthorized" })
    }
  })

  it("reads the key from the given header or query parameter", async () => {
    const byHeader = await start({ keyFrom: { header: "X-Api-Key" } })
    expect((await byHeader({ "x-api-key": key })).status).toBe(200)
    expect((await byHeader(bearer(key))).status).toBe(401)
    const byQuery = await start({ keyFrom: { query: "api_key" } })
    expect((await byQuery({}, `?api_key=${key}`)).status).toBe(200)
    expect((await byQuery({}, `?api_key=${key}&api_key=${key}`)).status).toBe(401)
    expect((await byQuery(bearer(key))).status).toBe(401)
  })

  it("says where it expects the key, and the same for every key that is not valid", async () => {
    const disabled = await createConsumer()
    const { data } = await production.keys.list(disabled.name)
    await production.keys.update(disabled.name, data[0]?.id ?? "", { disabled: true })
    const suspended = await createConsumer()
    await production.consumers.update(suspended.name, { disabled: true })
    const places = [
      [undefined, "header Authorization: Bearer <key>", "Bearer"],
      [{ header: "X-Api-Key" }, "header X-Api-Key", 'ApiKey in="header", name="X-Api-Key"'],
      [{ query: "api_key" }, "query parameter api_key", 'ApiKey in="query", name="api_key"'],
      [{ query: 'a "\u00e9\n' }, "query parameter a%20%22%C3%A9%0A", 'ApiKey in="query", name="a%20%22%C3%A9%0A"']
    ] as const
    for (const [keyFrom, place, challenge] of places) {
      const call = await start({ keyFrom })
      const send = (value: string) => {
        if (keyFrom === undefined) return call(bearer(value))
        if ("header" in keyFrom) return call({ [keyFrom.header]: value })
        return call({}, `?${new URLSearchParams({ [keyFrom.query]: value })}`)
      }
      const inWrongPlace = keyFrom === undefined ? call({ "x-api-key": key }) : call(bearer(key))
      for (const response of [
        await inWrongPlace,
        await send("wrong"),
        await send(`${key}x`),
        await send(disabled.key),
        await send(suspended.key)
      ]) {
        expect(response.headers.get("www-authenticate")).toBe(challenge)
        const { instance, ...problem } = (await response.json()) as Record<string, unknown>
        expect(problem).toEqual({
          type: "urn:tollgate:problem:unauthorized",
          title: "Not authenticated",
          status: 401,
          detail: `Send a valid API key in the ${place}`,
          code: "unauthorized"
        })
      }
    }
  })

  it("keeps the request id of the client", async () => {
    const response = await (await start())({ "x-request-id": "from-the-client" })
    expect(await response.json()).toMatchObject({ instance: "from-the-client" })
  })

  it("responds with 403 without an active subscription", async () => {
    const call = await start(getMetering())
    const notActive = { status: 403, code: "subscription-not-active" }
    await expectProblem(await call(bearer(key)), notActive)
    await subscribe(name, "unpaid")
    await expectProblem(await call(bearer(key)), notActive)
  })

  it("counts the uses, and responds with 429 over the quota", async () => {
    await subscribe(name)
    const call = await start(getMetering())
    const first = await call(bearer(key))
    expect(first.headers.get("ratelimit")).toMatch(/^"requests";r=1;t=\d+$/)
    expect(await first.json()).toMatchObject({ consumer: { remaining: { requests: 1 } } })
    expect((await call(bearer(key))).headers.get("ratelimit")).toMatch(/^"requests";r=0;t=\d+$/)
    expect(handled).toBe(2)
    handled = 0
    const overQuota = await call(bearer(key))
    expect(Number(overQuota.headers.get("retry-after"))).toBeGreaterThan(86_400)
    expect(overQuota.headers.get("ratelimit")).toMatch(/^"requests";r=0;t=\d+$/)
    await expectProblem(overQuota, {
      status: 429,
      code: "quota-exceeded",
      meter: "requests",
      max: 2,
      resetsOn: expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
    })
  })

  describe("while the store is unavailable", () => {
    beforeEach(() => {
      // Tollgate logs the outage under the request id.
      vi.spyOn(console, "error").mockImplementation(() => undefined)
    })
    afterEach(() => {
      vi.restoreAllMocks()
      faulty.injectAt(0, "fail")
    })

    it.each([undefined, "deny"] as const)("responds with 503 if onStoreUnavailable is %s", async (policy) => {
      const call = await start({ onStoreUnavailable: policy })
      faulty.injectAt(1, "fail")
      const response = await call(bearer(key))
      expect(response.headers.get("retry-after")).toBe("1")
      await expectProblem(response, { status: 503, code: "store-unavailable", outcome: "not-applied" })
      expect((await call(bearer(key))).status).toBe(200)
    })

    it("says if the use may have been counted", async () => {
      await subscribe(name)
      const call = await start(getMetering())
      expect((await call(bearer(key))).status).toBe(200)
      handled = 0
      // The first call of the store finds the key, the second one counts.
      faulty.injectAt(2, "lose-reply")
      const response = await call(bearer(key))
      await expectProblem(response, { status: 503, code: "store-unavailable", outcome: "unknown" })
      expect((await call(bearer(key))).status).toBe(429)
    })

    it("passes a key that was valid lately on without a consumer if onStoreUnavailable is allow", async () => {
      await subscribe(name)
      const call = await start({ ...getMetering(), onStoreUnavailable: "allow" })
      expect((await call(bearer(key))).status).toBe(200)
      faulty.injectAt(1, "fail")
      const response = await call(bearer(key))
      expect([response.status, await response.json(), handled]).toEqual([200, {}, 2])
      expect(response.headers.get("ratelimit")).toBeNull()
      expect(await (await call(bearer(key))).json()).toMatchObject({ consumer: { name, remaining: { requests: 0 } } })
    })

    it("responds with 503 to any other key even if onStoreUnavailable is allow", async () => {
      const call = await start({ onStoreUnavailable: "allow" })
      const removed = await createConsumer()
      expect((await call(bearer(removed.key))).status).toBe(200)
      await production.consumers.remove(removed.name)
      expect((await call(bearer(removed.key))).status).toBe(401)
      handled = 0
      for (const unknown of ["made-up-key-0123456789", key, removed.key]) {
        faulty.injectAt(1, "fail")
        const response = await call(bearer(unknown))
        expect(response.headers.get("retry-after")).toBe("1")
        await expectProblem(response, { status: 503, code: "store-unavailable", outcome: "not-applied" })
      }
    })

    it("rejects a malformed key even if onStoreUnavailable is allow", async () => {
      const call = await start({ onStoreUnavailable: "allow" })
      for (const headers of [{}, bearer("wrong"), bearer(`${key}x`)]) {
        faulty.injectAt(1, "fail")
        await expectProblem(await call(headers), { status: 401, code: "unauthorized" })
        expect(faulty.calls()).toBe(0)
      }
    })
  })

  it.each<readonly [option: string, options: object | null | string]>([
    ["options", null],
    ["options", "x-api-key"],
    ["meter", { meter: { meteringBucketId: "bckt_1", meters: { requests: 1 } } }],
    ["account", { account: "acme", bucket: "production" }],
    ["metering", { metering: "bckt_1" }],
    ["metering.meteringBucketId", { metering: { meters: { requests: 1 } } }],
    ["metering.meters.requests", { metering: { meteringBucketId: "bckt_1", meters: { requests: 0 } } }],
    ["metering.meter", { metering: { meteringBucketId: "bckt_1", meters: { requests: 1 }, meter: 1 } }],
    ["keyFrom", { keyFrom: { cookie: "key" } }],
    ["keyFrom", { keyFrom: "x-api-key" }],
    ["keyFrom", { keyFrom: { header: "" } }],
    ["keyFrom", { keyFrom: { header: "x api key" } }],
    ["keyFrom", { keyFrom: { header: "x-api-key:" } }],
    ["keyFrom", { keyFrom: { query: "" } }],
    ["keyFrom", { keyFrom: { header: 5 } }],
    ["keyFrom", { keyFrom: { header: "x-api-key", query: "api_key" } }],
    ["onStoreUnavailable", { onStoreUnavailable: "ignore" }],
    ["charge", { charge: "answer" }],
    ["charge", { charge: "success" }],
    ["charge", { charge: "success", metering: undefined }],
    ["charge", { charge: "success", metering: { meteringBucketId: "bckt_1" } }]
  ])("rejects an invalid option when it is created: %s of %o", (option, options) => {
    const create = () => requireApiKey(production, options as RequireApiKeyOptions)
    expect(create).toThrow(ConfigurationError)
    expect(create).toThrow(expect.objectContaining({ option }))
  })

  it("rejects anything but a key bucket of this process when it is created", () => {
    const client = createClient({ baseUrl: "http://localhost", token: "a-management-token-for-acme" })
    for (const other of [
      undefined,
      null,
      "production",
      gate,
      gate.account("acme"),
      gate.account("acme").meteringBucket(meteringBucketId),
      client.account("acme").keyBucket("production")
    ]) {
      const create = () => requireApiKey(other as never)
      expect(create).toThrow(ConfigurationError)
      expect(create).toThrow("keyBucket: must be a key bucket, such as gate.account(…).keyBucket(…)")
    }
  })

  it("fails as a mistake of the server if the metering bucket does not exist", async () => {
    const call = await start({ metering: { meteringBucketId: "bckt_unknown", meters: { requests: 1 } } })
    expect([(await call(bearer(key))).status, handled]).toEqual([500, 0])
  })

  it("fails as a mistake of the server if no plan has the meter", async () => {
    await subscribe(name)
    const call = await start(getMetering({ request: 1 }))
    expect([(await call(bearer(key))).status, handled]).toEqual([500, 0])
  })
})
