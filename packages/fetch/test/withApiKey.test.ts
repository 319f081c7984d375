import { createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import { type RequestConsumer, type RequireApiKeyOptions, requireApiKey, withApiKey } from "@tollgate/fetch"
import { MemoryStore } from "@tollgate/memory"
import { makeSubscription } from "@tollgate/testing"
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest"

let gate: Tollgate
let production: LocalKeyBucketHandle
let options: { readonly metering: NonNullable<RequireApiKeyOptions["metering"]> }
let key: string

beforeAll(async () => {
  gate = await createTollgate({ store: MemoryStore.open(), secret: "test-secret-with-at-least-32-characters" })
  production = gate.account("acme").keyBucket("production")
  key = (await production.consumers.create({ name: "alice" }, { withApiKey: true })).apiKeys?.[0]?.key ?? ""
  const billing = await gate.account("acme").meteringBuckets.ensure("billing")
  const plan = await billing.plans.create({ label: "P", planExternalId: "p", meters: { requests: { max: 1000 } } })
  await billing.subscriptions.create(makeSubscription(plan.id, "p", {}))
  options = { metering: { meteringBucketId: billing.id, meters: { requests: 1 } } }
})
afterAll(() => gate.close())

const makeRequest = () => new Request("http://localhost/hello", { headers: { authorization: `Bearer ${key}` } })
const rateLimit = /^"requests";r=\d+;t=\d+$/

describe("withApiKey", () => {
  it("passes the request and further arguments to the handler", async () => {
    const request = makeRequest()
    const handle = withApiKey(
      production,
      options,
      async (received, { consumer }, context: { readonly params: Promise<{ readonly id: string }> }) => {
        expect(received).toBe(request)
        return new Response(`${consumer.name} ${(await context.params).id}`)
      }
    )
    const response = await handle(request, { params: Promise.resolve({ id: "order-1" }) })
    expect(await response.text()).toBe("alice order-1")
  })

  it("adds the RateLimit header to the handler's response itself", async () => {
    const original = new Response("hello", { status: 201 })
    const response = await withApiKey(production, options, () => original)(makeRequest())
    expect(response).toBe(original)
    expect(response.headers.get("ratelimit")).toMatch(rateLimit)
  })

  it("copies a response whose headers are immutable, with its status and body", async () => {
    const redirect = Response.redirect("http://localhost/elsewhere", 303)
    const redirected = await withApiKey(production, options, () => redirect)(makeRequest())
    expect([redirected.status, redirected.headers.get("location")]).toEqual([303, "http://localhost/elsewhere"])
    expect(redirected.headers.get("ratelimit")).toMatch(rateLimit)
    const fetched = await withApiKey(production, options, () => fetch("data:text/plain,proxied"))(makeRequest())
    expect([fetched.headers.get("content-type"), await fetched.text()]).toEqual(["text/plain", "proxied"])
    expect(fetched.headers.get("ratelimit")).toMatch(rateLimit)
  })

  it("keeps the headers of the handler, such as several cookies and its own RateLimit", async () => {
    const headers = new Headers([
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
      ["ratelimit", '"mine";r=1;t=1']
    ])
    const response = await withApiKey(production, options, () => new Response(null, { headers }))(makeRequest())
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"])
    expect(response.headers.get("ratelimit")).toBe('"mine";r=1;t=1')
  })

  it("rejects if the handler rejects", async () => {
    const handle = withApiKey(production, {}, () => Promise.reject(new Error("handler failed")))
    await expect(handle(makeRequest())).rejects.toThrow("handler failed")
  })
})

it("gives a consumer to every allowed request, unless the store may be unavailable", async () => {
  const check = await requireApiKey(production)(makeRequest())
  if (check.allowed) expectTypeOf(check.consumer).toEqualTypeOf<RequestConsumer>()
  const lenient = await requireApiKey(production, { onStoreUnavailable: "allow" })(makeRequest())
  if (lenient.allowed) expectTypeOf(lenient.consumer).toEqualTypeOf<RequestConsumer | undefined>()
  withApiKey(production, { onStoreUnavailable: "deny" }, (_, { consumer }) => {
    expectTypeOf(consumer).toEqualTypeOf<RequestConsumer>()
    return new Response()
  })
  withApiKey(production, { onStoreUnavailable: "allow" }, (_, { consumer }) => {
    expectTypeOf(consumer).toEqualTypeOf<RequestConsumer | undefined>()
    return new Response()
  })
  // @ts-expect-error: no such option
  expect(() => requireApiKey(production, { onStoreUnavailable: "allow", meterin: {} })).toThrow("meterin")
  expect([check.allowed, lenient.allowed]).toEqual([true, true])
})
