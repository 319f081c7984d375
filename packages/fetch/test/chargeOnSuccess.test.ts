/**
 * Responses of Fetch with `charge: "success"`.
 */
import { createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import { type RequireApiKeyOptions, requireApiKey, withApiKey } from "@tollgate/fetch"
import { MemoryStore } from "@tollgate/memory"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { eventually, makeSubscription } from "@tollgate/testing"
import { afterEach, beforeEach, expect, expectTypeOf, it, vi } from "vitest"

let gate: Tollgate
let production: LocalKeyBucketHandle
let options: {
  readonly metering: NonNullable<RequireApiKeyOptions["metering"]>
  readonly charge: "success" | "complete"
}
let key: string
let readUsage: () => Promise<unknown>
/** Only lookups of keys fail: jobs in the background make other calls at any time. */
const faulty = makeFaultyStore(MemoryStore.open(), (operation) => operation !== "getByUniqueKey")

beforeEach(async () => {
  gate = await createTollgate({ store: faulty.store, secret: "test-secret-with-at-least-32-characters" })
  const account = gate.account(`acme-${crypto.randomUUID()}`)
  production = account.keyBucket("production")
  key = (await production.consumers.create({ name: "alice" }, { withApiKey: true })).apiKeys?.[0]?.key ?? ""
  const billing = await account.meteringBuckets.ensure("billing")
  const plan = await billing.plans.create({ label: "P", planExternalId: "p", meters: { requests: { max: 1000 } } })
  const { id } = await billing.subscriptions.create(makeSubscription(plan.id, "p", {}))
  options = { metering: { meteringBucketId: billing.id, meters: { requests: 1 } }, charge: "success" }
  readUsage = async () => {
    const { meters } = await billing.usage.quotas(id)
    const { data } = await billing.usage.series(id, { step: "period" })
    return { used: meters["requests"]?.used, charged: data.at(-1)?.meters["requests"] }
  }
})
afterEach(() => gate.close())

const makeRequest = (init: RequestInit = {}) =>
  new Request("http://localhost/hello", { ...init, headers: { authorization: `Bearer ${key}` } })
const call = (respond: () => Response | Promise<Response>, init?: RequestInit) =>
  withApiKey(production, options, respond)(makeRequest(init))

/** A body of numbers, made when they are asked for. */
const makeBody = (onCancel: (reason: unknown) => void = () => undefined) => {
  let made = 0
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (++made > 3) controller.close()
    else controller.enqueue(new TextEncoder().encode(String(made)))
  }
  const body = new ReadableStream<Uint8Array>({ pull, cancel: onCancel }, { highWaterMark: 0 })
  return { body, countMade: () => made }
}

const expectCharged = (charged: number) =>
  eventually(async () => expect(await readUsage()).toEqual({ used: charged, charged }))
const expectReserved = async () => expect(await readUsage()).toEqual({ used: 1, charged: 0 })

it("charges when the body was read to its end, chunk by chunk", async () => {
  const { body, countMade } = makeBody()
  const response = await call(() => new Response(body))
  expect(countMade()).toBe(0)
  const reader = response.body?.getReader()
  for (const chunk of ["1", "2", "3"]) {
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(chunk)
    expect(countMade()).toBe(Number(chunk))
    await expectReserved()
  }
  expect(await reader?.read()).toMatchObject({ done: true })
  await expectCharged(1)
})

it("keeps status, status text and headers, with the RateLimit header", async () => {
  const headers = new Headers([
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
    ["content-length", "5"]
  ])
  const response = await call(() => new Response("hello", { status: 201, statusText: "Made", headers }))
  expect([response.status, response.statusText, response.headers.get("content-length")]).toEqual([201, "Made", "5"])
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"])
  expect(response.headers.get("content-type")).toBe("text/plain;charset=UTF-8")
  expect(response.headers.get("ratelimit")).toMatch(/^"requests";r=999;t=\d+$/)
  expect(await response.text()).toBe("hello")
  await expectCharged(1)
})

it.each([
  ["charges", "success", "after a part of it was read", 1],
  ["gives back", "success", "before anything of it was read", 0],
  ["gives back", "complete", "after a part of it was read", 0]
] as const)("%s with %s and cancels the body if it is cancelled %s", async (_, charge, when, charged) => {
  options = { ...options, charge }
  const onCancel = vi.fn()
  const response = await call(() => new Response(makeBody(onCancel).body))
  const reader = response.body?.getReader()
  if (when.startsWith("after")) await reader?.read()
  await reader?.cancel("disconnected")
  expect(onCancel).toHaveBeenCalledWith("disconnected")
  await expectCharged(charged)
})

it("gives back and fails the body if it fails", async () => {
  const pull = () => Promise.reject(new Error("upstream failed"))
  const response = await call(() => new Response(new ReadableStream({ pull }, { highWaterMark: 0 })))
  await expectReserved()
  await expect(response.text()).rejects.toThrow("upstream failed")
  await expectCharged(0)
})

it.each<readonly [name: string, respond: () => Response, charged: number]>([
  ["204", () => new Response(null, { status: 204 }), 1],
  ["a redirect, whose headers are immutable", () => Response.redirect("http://localhost/elsewhere"), 1],
  ["304", () => new Response(null, { status: 304 }), 1],
  ["404 with a body", () => new Response("missing", { status: 404 }), 0],
  ["a network error", () => Response.error(), 0]
])("charges by the status without reading a body: %s", async (_, respond, charged) => {
  const response = await call(respond)
  expect(response.headers.get("location")).toBe(respond().headers.get("location"))
  await expectCharged(charged)
})

it("charges a response to HEAD, whose body no server reads", async () => {
  await call(() => new Response("hello"), { method: "HEAD" })
  await expectCharged(1)
})

it("gives back a response whose body is being read already", async () => {
  await call(() => {
    const response = new Response("hello")
    response.body?.getReader()
    return response
  })
  await expectCharged(0)
})

it("gives back and rejects if the handler throws, or returns no response", async () => {
  await expect(call(() => Promise.reject(new Error("handler failed")))).rejects.toThrow("handler failed")
  await expectCharged(0)
  await expect(call(() => undefined as never)).rejects.toThrow(TypeError)
  await expectCharged(0)
})

it("gives back if the client disconnects, also before the handler answers", async () => {
  const controller = new AbortController()
  const { signal } = controller
  const [handled, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<Response>()]
  const respond = () => {
    handled.resolve()
    return answer.promise
  }
  const response = call(respond, { signal })
  await handled.promise
  await expectReserved()
  controller.abort()
  await expectCharged(0)
  answer.resolve(new Response("late"))
  expect(await (await response).text()).toBe("late")
  await (await call(() => new Response("too late"), { signal })).text()
  await expectCharged(0)
})

it("charges a request that was answered before the client disconnects", async () => {
  const controller = new AbortController()
  await (await call(() => new Response("hello"), { signal: controller.signal })).text()
  controller.abort()
  await expectCharged(1)
})

it("passes the result of requireApiKey through finish, once", async () => {
  const result = await requireApiKey(production, options)(makeRequest())
  if (!result.allowed) throw new Error("The request was refused")
  expectTypeOf(result.finish).toEqualTypeOf<(response: Response) => Response>()
  await expectReserved()
  const response = result.finish(Response.json({ hello: result.consumer.name }))
  expect(response.headers.get("ratelimit")).toMatch(/^"requests";r=999;t=\d+$/)
  await expectReserved()
  expect(await response.json()).toEqual({ hello: "alice" })
  result.finish(new Response(null, { status: 500 }))
  await expectCharged(1)
})

it("has no finish unless the outcome decides", async () => {
  const { metering } = options
  const result = await requireApiKey(production, { metering, charge: "request" })(makeRequest())
  if (result.allowed) expectTypeOf(result.finish).toEqualTypeOf<undefined>()
  expect(result).not.toHaveProperty("finish")
  await expectCharged(1)
})

it("has nothing to end if the request was allowed while the store was unavailable", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined)
  const check = requireApiKey(production, { ...options, onStoreUnavailable: "allow" })
  await production.verify(key)
  faulty.injectAt(1, "fail")
  const result = await check(makeRequest())
  log.mockRestore()
  if (!result.allowed) throw new Error("The request was refused")
  const original = new Response("hello")
  expect(result.finish(original)).toBe(original)
  await expectCharged(0)
})
