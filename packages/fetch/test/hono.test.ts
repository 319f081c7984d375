/**
 * The middleware in a Hono app: consumers, refusals, limits, and what a request is charged.
 */
import { createTollgate, type LocalKeyBucketHandle, type MeteringBucketHandle, type Tollgate } from "@tollgate/core"
import { type RequestConsumer, rateLimit, requireApiKey, type SettlingConsumer } from "@tollgate/fetch/hono"
import { MemoryStore } from "@tollgate/memory"
import { Hono } from "hono"
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest"

let gate: Tollgate
let production: LocalKeyBucketHandle
let billing: MeteringBucketHandle
const routes: Array<string | undefined> = []

beforeAll(async () => {
  gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "test-secret-with-at-least-32-characters",
    onDecision: ({ route }) => {
      routes.push(route)
    }
  })
  production = gate.account("acme").keyBucket("production")
  billing = await gate.account("acme").meteringBuckets.ensure("billing")
  await billing.plans.create({ label: "pro", meters: { requests: { max: 100 } } })
})
afterAll(() => gate.close())

let count = 0
/** A customer of its own, and the headers of its requests. */
const makeCustomer = async () => {
  const name = `customer-${++count}`
  const { apiKeys } = await production.consumers.create({ name }, { withApiKey: true })
  await billing.subscriptions.create({ customerKey: name, planExternalIds: ["pro"] })
  const used = async () => (await billing.customer(name).get()).meters["requests"]?.allowance.used
  return { name, used, headers: { authorization: `Bearer ${apiKeys[0].key}` } }
}
const meters = { requests: 1 }
const metering = () => ({ meteringBucketId: billing.id, meters })

describe("requireApiKey", () => {
  it("sets the consumer, and adds the RateLimit headers", async () => {
    const app = new Hono().get("/orders/:id", requireApiKey(production, { metering: metering() }), (c) => {
      expectTypeOf(c.var.consumer).toEqualTypeOf<RequestConsumer>()
      return c.json({ consumer: c.var.consumer.name, id: c.req.param("id") })
    })
    const { name, headers, used } = await makeCustomer()
    const response = await app.request("/orders/7", { headers })
    expect(await response.json()).toEqual({ consumer: name, id: "7" })
    expect(response.headers.get("ratelimit")).toMatch(/^"requests";r=99;t=\d+$/)
    expect(await used()).toBe(1)
    expect(routes).toContain("GET /orders/:id")
  })

  it("responds to a request without a key, with a problem, and does not run the handler", async () => {
    const app = new Hono().use("/shop/*", requireApiKey(production)).get("/shop/orders", () => {
      throw new Error("ran")
    })
    const response = await app.request("/shop/orders")
    expect([response.status, response.headers.get("content-type")]).toEqual([401, "application/problem+json"])
    expect(await response.json()).toMatchObject({ code: "unauthorized" })
  })

  it("passes the context to options that are functions", async () => {
    const app = new Hono().get(
      "/cost/:cost",
      requireApiKey(production, {
        metering: (c) => ({ ...metering(), meters: { requests: Number(c.req.param("cost")) } })
      }),
      (c) => c.text("ok")
    )
    const { headers, used } = await makeCustomer()
    expect((await app.request("/cost/7", { headers })).status).toBe(200)
    expect(await used()).toBe(7)
  })

  it.each([
    ["a response", "/ok", 1],
    ["a response of an error", "/missing", 0],
    ["a handler that throws", "/throw", 0]
  ])("charges by the outcome: %s", async (_, path, expected) => {
    const app = new Hono()
      .onError((_error, c) => c.text("failed", 500))
      .use(requireApiKey(production, { metering: metering(), charge: "success" }))
      .get("/ok", (c) => c.text("ok"))
      .get("/throw", () => {
        throw new Error("failed")
      })
    const { headers, used } = await makeCustomer()
    await (await app.request(path, { headers })).text()
    await expect.poll(used).toBe(expected)
  })

  it("lets a route with reserve say what was used", async () => {
    const app = new Hono().post(
      "/chat",
      requireApiKey(production, { metering: { meteringBucketId: billing.id }, reserve: { requests: 50 } }),
      (c) => {
        expectTypeOf(c.var.consumer).toEqualTypeOf<SettlingConsumer>()
        return c.json(c.var.consumer.settle({ requests: 12 }))
      }
    )
    const { headers, used } = await makeCustomer()
    const response = await app.request("/chat", { method: "POST", headers })
    expect(await response.json()).toBe(true)
    await expect.poll(used).toBe(12)
  })

  it("may have no consumer if requests pass while the store is away", () => {
    new Hono().get("/", requireApiKey(production, { onStoreUnavailable: "allow" }), (c) => {
      expectTypeOf(c.var.consumer).toEqualTypeOf<RequestConsumer | undefined>()
      return c.text("ok")
    })
  })

  it("rejects wrong options at once", () => {
    expect(() => requireApiKey(production, { scope: ["read"] } as never)).toThrow(/scope: unknown option/)
  })
})

describe("rateLimit", () => {
  it("limits requests without a key", async () => {
    const limit = rateLimit(production, { by: (c) => c.req.header("x-real-ip"), limit: 1, per: "hour" })
    const app = new Hono().post("/sign-up", limit, (c) => c.text("welcome", 202))
    const signUp = async (ip: string) => {
      const response = await app.request("/sign-up", { method: "POST", headers: { "x-real-ip": ip } })
      return [response.status, response.headers.has("ratelimit")]
    }
    expect(await signUp("192.0.2.1")).toEqual([202, true])
    expect(await signUp("192.0.2.1")).toEqual([429, true])
    expect(await signUp("192.0.2.2")).toEqual([202, true])
  })
})
