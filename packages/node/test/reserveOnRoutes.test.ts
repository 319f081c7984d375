/**
 * With `reserve`, a route says what a request has used, the same in every framework. A request that says nothing is charged
 * what it has reserved if it succeeded, and nothing otherwise.
 */
import type { Server } from "node:http"
import type { Http2Server } from "node:http2"
import { PassThrough } from "node:stream"
import { createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import { type RequestConsumer, requireApiKey, type SettleRequest, withApiKey } from "@tollgate/fetch"
import { MemoryStore } from "@tollgate/memory"
import { type FaultyStore, makeFaultyStore } from "@tollgate/store-testkit"
import { eventually, isBackgroundCall } from "@tollgate/testing"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { type Behaviour, chargingFrameworks } from "./chargingFrameworks.ts"
import { type OpenRequest, openRequest } from "./openRequest.ts"

const secret = "test-secret-with-at-least-32-characters"
let gate: Tollgate
let faulty: FaultyStore
let production: LocalKeyBucketHandle
let meteringBucketId: string

beforeAll(async () => {
  faulty = makeFaultyStore(MemoryStore.open(), isBackgroundCall)
  gate = await createTollgate({ store: faulty.store, secret })
  production = gate.account("acme").keyBucket("production")
  const billing = await gate.account("acme").meteringBuckets.ensure("billing")
  meteringBucketId = billing.id
  await billing.plans.ensure([{ planExternalId: "p", meters: { tokens: { max: 10_000 }, images: { max: 10 } } }])
})
afterAll(() => gate.close())

let consumerCount = 0
const signUp = async (on = gate) => {
  const name = `consumer-${++consumerCount}`
  const subscription = { meteringBucket: "billing", planExternalIds: ["p"] }
  const keyBucket = on.account("acme").keyBucket("production")
  const created = await keyBucket.consumers.create({ name, subscription }, { withApiKey: true })
  return { key: created.apiKeys[0].key ?? "", subscriptionId: created.subscription?.id ?? "" }
}

/** What the quota calls used, with what is reserved, and what is charged. */
const readUsage = async (subscriptionId: string, on = gate) => {
  const { usage } = on.account("acme").meteringBucket(meteringBucketId)
  const { meters } = await usage.quotas(subscriptionId)
  const { data } = await usage.series(subscriptionId, { step: "period" })
  return { used: meters["tokens"]?.used, charged: data.at(-1)?.meters["tokens"] }
}

describe.each(chargingFrameworks)("reserve in $name", ({ listen, isHttp2 }) => {
  let key: string
  let subscriptionId: string
  let server: Server | Http2Server
  let bodies: Array<PassThrough>
  let handled: PromiseWithResolvers<SettleRequest>
  let whenHandled: (settle: SettleRequest) => void
  const requests: Array<OpenRequest> = []

  beforeEach(async () => {
    ;({ key, subscriptionId } = await signUp())
    bodies = []
    handled = Promise.withResolvers()
    whenHandled = () => undefined
    const onHandled = (consumer: RequestConsumer | undefined) => {
      if (consumer?.settle === undefined) throw new Error("The consumer has no settle")
      handled.resolve(consumer.settle)
      whenHandled(consumer.settle)
    }
    const openBody = () => {
      const body = new PassThrough()
      body.write("first")
      bodies.push(body)
      return body
    }
    server = await listen(
      production,
      { metering: { meteringBucketId }, reserve: { tokens: 4_000 } },
      { onHandled, openBody }
    )
  })
  afterEach(async () => {
    vi.useRealTimers()
    faulty.injectAt(0, "fail")
    for (const { disconnect } of requests.splice(0)) disconnect()
    await new Promise((resolve) => server.close(resolve))
  })

  const call = (behaviour: Behaviour) => {
    const headers = { authorization: `Bearer ${key}` }
    const request = openRequest(server, isHttp2, `?do=${behaviour}`, { method: "GET", headers })
    requests.push(request)
    return request
  }
  const openStream = async () => {
    const request = call("stream")
    const response = await request.response
    expect(await response.readChunk()).toBe("first")
    return { ...request, ...response, settle: await handled.promise }
  }
  const expectCharged = (charged: number) =>
    eventually(async () => expect(await readUsage(subscriptionId)).toEqual({ used: charged, charged }))

  it("charges what the handler settles before it responds, whatever it responds", async () => {
    whenHandled = (settle) => {
      expect(settle({ tokens: 1_234 })).toBe(true)
      expect(settle({ tokens: 1 })).toBe(false)
    }
    await (await call("ok").response).readRest()
    await expectCharged(1_234)
    await (await call("throw").response).readRest()
    await expectCharged(2_468)
    whenHandled = (settle) => settle({})
    await (await call("ok").response).readRest()
    await expectCharged(2_468)
  })

  it("charges what is settled during a stream, or after its end", async () => {
    const during = await openStream()
    expect(during.headers["ratelimit"]).toContain('"tokens";r=6000')
    expect(await readUsage(subscriptionId)).toEqual({ used: 4_000, charged: 0 })
    expect(during.settle({ tokens: 10 })).toBe(true)
    bodies[0]?.end(" last")
    expect(await during.readRest()).toBe(" last")
    await expectCharged(10)
    handled = Promise.withResolvers()
    const after = await openStream()
    // The second in which a request can still be settled does not pass.
    vi.useFakeTimers({ toFake: ["setTimeout"] })
    bodies[1]?.end(" last")
    expect(await after.readRest()).toBe(" last")
    expect(after.settle({ tokens: 20 })).toBe(true)
    vi.useRealTimers()
    await expectCharged(30)
    expect(after.settle({ tokens: 20 })).toBe(false)
  })

  it.each<readonly [behaviour: Behaviour, charged: number]>([
    ["ok", 4_000],
    ["missing", 0],
    ["throw", 0]
  ])("charges a request that is not settled by its status: %s is charged %i", async (behaviour, charged) => {
    await (await call(behaviour).response).readRest()
    await expectCharged(charged)
    // Too late for a request that was charged; one that was given back counts all the same.
    expect((await handled.promise)({ tokens: 5 })).toBe(charged === 0)
    await expectCharged(charged === 0 ? 5 : charged)
    expect((await handled.promise)({ tokens: 5 })).toBe(false)
  })

  it("charges what is settled after the client has disconnected, before a response or in the middle of it", async () => {
    const pending = call("never")
    const settle = await handled.promise
    expect(await readUsage(subscriptionId)).toEqual({ used: 4_000, charged: 0 })
    pending.disconnect()
    await expectCharged(0)
    expect(settle({ tokens: 7 })).toBe(true)
    await expectCharged(7)
    handled = Promise.withResolvers()
    const stream = await openStream()
    stream.disconnect()
    expect(stream.settle({ tokens: 3 })).toBe(true)
    await expectCharged(10)
  })

  it("charges a client that disconnects in the middle of a response, if nothing is settled", async () => {
    const { disconnect } = await openStream()
    disconnect()
    await expectCharged(4_000)
  })

  it("refuses a request whose reservation is not available, and reserves nothing", async () => {
    await openStream()
    await openStream()
    const refused = await call("ok").response
    expect(refused.status).toBe(429)
    expect(JSON.parse(await refused.readRest())).toMatchObject({ code: "quota-exceeded", meter: "tokens" })
    expect(await readUsage(subscriptionId)).toEqual({ used: 8_000, charged: 0 })
  })

  it.each(["fail", "lose-reply"] as const)("charges once if the store has the fault %s", async (fault) => {
    const { settle } = await openStream()
    faulty.injectAt(1, fault)
    settle({ tokens: 12 })
    await eventually(() => expect(faulty.calls()).toBeGreaterThan(1))
    await expectCharged(12)
  })

  it.each(["fail", "lose-reply"] as const)(
    "counts once what was given back, if the store has the fault %s",
    async (fault) => {
      const { disconnect } = call("never")
      const settle = await handled.promise
      disconnect()
      await expectCharged(0)
      faulty.injectAt(2, fault)
      settle({ tokens: 12 })
      await eventually(() => expect(faulty.calls()).toBeGreaterThan(2))
      await expectCharged(12)
    }
  )
})

describe("reserve", () => {
  const request = (key: string, init: RequestInit = {}) =>
    new Request("http://gate/", { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } })

  it("may depend on the request, which may be unmetered", async () => {
    const { key, subscriptionId } = await signUp()
    const results: Array<boolean> = []
    const handler = withApiKey(
      production,
      {
        metering: (request: Request) => (request.headers.has("x-free") ? undefined : { meteringBucketId }),
        reserve: async (request: Request) => ({ tokens: Number(request.headers.get("x-max-tokens")) })
      },
      (_, { consumer }) => {
        results.push(consumer.settle({ tokens: 3 }))
        return Response.json(consumer.remaining)
      }
    )
    const response = await handler(request(key, { headers: { "x-max-tokens": "100" } }))
    expect(await response.json()).toEqual({ tokens: 9_900 })
    await eventually(async () => expect(await readUsage(subscriptionId)).toEqual({ used: 3, charged: 3 }))
    expect((await handler(request(key, { headers: { "x-free": "yes" } }))).status).toBe(200)
    expect(results).toEqual([true, false])
    await expect(handler(request(key, { headers: { "x-max-tokens": "none" } }))).rejects.toMatchObject({
      _tag: "ConfigurationError"
    })
  })

  it("throws for amounts that the route does not reserve, and then counts as not settled", async () => {
    const { key, subscriptionId } = await signUp()
    const errors: Array<unknown> = []
    const handler = withApiKey(
      production,
      { metering: { meteringBucketId }, reserve: { tokens: 4_000 } },
      (_, { consumer: { settle } }) => {
        const amounts: ReadonlyArray<unknown> = [
          { tokens: 4_001 },
          { images: 1 },
          { tokens: -1 },
          { tokens: 0.5 },
          null,
          { toString: 1 }
        ]
        // They have no amounts of their own, and would count 0.
        const noObjects = [[], new Map([["tokens", 5]]), Promise.resolve({ tokens: 5 })]
        for (const used of [...amounts, ...noObjects]) {
          try {
            settle(used as never)
          } catch (error) {
            errors.push(error)
          }
        }
        return new Response("ok")
      }
    )
    await (await handler(request(key))).text()
    expect(errors).toHaveLength(9)
    expect(errors[0]).toMatchObject({
      _tag: "ConfigurationError",
      message: expect.stringContaining("tokens must be at most 4000, which the route reserves, and not 4001")
    })
    await eventually(async () => expect(await readUsage(subscriptionId)).toEqual({ used: 4_000, charged: 4_000 }))
  })

  it("has settle only where the route reserves, also in the types", async () => {
    const { key } = await signUp()
    const metering = { meteringBucketId, meters: { tokens: 1 } }
    const plain = await requireApiKey(production, { metering })(request(key))
    if (!plain.allowed) throw new Error("refused")
    // @ts-expect-error settle may be undefined
    expect(() => plain.consumer.settle({ tokens: 1 })).toThrow(TypeError)
    const protect = requireApiKey(production, { metering: { meteringBucketId }, reserve: { tokens: 10 } })
    const reserved = await protect(request(key))
    if (!reserved.allowed) throw new Error("refused")
    expect(reserved.consumer.settle({ tokens: 1 })).toBe(true)
    expect(reserved.finish(new Response("ok")).status).toBe(200)
  })

  it("refuses options that contradict each other, and unknown meters", async () => {
    const invalid: ReadonlyArray<[object, string]> = [
      [{ reserve: { tokens: 1 } }, "reserve"],
      [{ metering: { meteringBucketId, meters: { tokens: 1 } }, reserve: { tokens: 1 } }, "reserve"],
      [{ metering: { meteringBucketId }, reserve: { tokens: 1 }, charge: "success" }, "reserve"],
      [{ metering: { meteringBucketId }, reserve: { tokens: 0 } }, "reserve.tokens"],
      [{ metering: { meteringBucketId }, reserve: {} }, "reserve"],
      [{ metering: { meteringBucketId }, reserve: 4_000 }, "reserve"]
    ]
    for (const [options, option] of invalid) {
      expect(() => requireApiKey(production, options as never), JSON.stringify(options)).toThrow(
        expect.objectContaining({ _tag: "ConfigurationError", option })
      )
    }
    expect(() => requireApiKey(production, { metering: { meteringBucketId }, reserve: "x" } as never)).toThrow(
      /reserve: must be an object$/
    )
    const { key } = await signUp()
    const unknown = requireApiKey(production, { metering: { meteringBucketId }, reserve: { words: 1 } })
    await expect(unknown(request(key))).rejects.toMatchObject({ _tag: "ConfigurationError", option: "metering.meters" })
    const metering = () => ({ meteringBucketId, meters: { tokens: 1 } })
    const both = requireApiKey(production, { metering, reserve: { tokens: 1 } })
    await expect(both(request(key))).rejects.toMatchObject({ _tag: "ConfigurationError", option: "metering" })
  })

  it("charges requests that have just ended when Tollgate is closed", async () => {
    const closing = await createTollgate({ store: faulty.store, secret })
    const { key, subscriptionId } = await signUp(closing)
    const handler = withApiKey(
      closing.account("acme").keyBucket("production"),
      { metering: { meteringBucketId }, reserve: { tokens: 4_000 } },
      () => new Response("ok")
    )
    expect(await (await handler(request(key))).text()).toBe("ok")
    expect(await readUsage(subscriptionId)).toEqual({ used: 4_000, charged: 0 })
    await closing.close()
    expect(await readUsage(subscriptionId)).toEqual({ used: 4_000, charged: 4_000 })
  })
})
