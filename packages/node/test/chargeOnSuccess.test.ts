/**
 * With `charge: "success"`, a request is charged when it was answered, the same in every framework.
 */
import { once } from "node:events"
import type { Server } from "node:http"
import type { Http2Server } from "node:http2"
import { PassThrough } from "node:stream"
import { createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { type FaultyStore, makeFaultyStore } from "@tollgate/store-testkit"
import { eventually, isBackgroundCall, makeSubscription } from "@tollgate/testing"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type Behaviour, chargingFrameworks } from "./chargingFrameworks.ts"
import { type OpenRequest, openRequest } from "./openRequest.ts"

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

let consumerCount = 0

describe.each(chargingFrameworks)("charge: success in $name", ({ listen, isHttp2 }) => {
  let key: string
  let subscriptionId: string
  let server: Server | Http2Server
  let bodies: Array<PassThrough>
  let handled: PromiseWithResolvers<void>
  /** Runs after the key of a request was found. */
  let beforeCounting: () => Promise<void>
  const requests: Array<OpenRequest> = []

  const start = async (charge: "success" | "complete") => {
    const metering = async () => {
      await beforeCounting()
      return { meteringBucketId, meters: { requests: 1 } }
    }
    const openBody = () => {
      const body = new PassThrough()
      body.write("first")
      bodies.push(body)
      return body
    }
    server = await listen(production, { metering, charge }, { onHandled: () => handled.resolve(), openBody })
  }

  beforeEach(async () => {
    const name = `consumer-${++consumerCount}`
    const billing = gate.account("acme").meteringBucket(meteringBucketId)
    key = (await production.consumers.create({ name }, { withApiKey: true })).apiKeys?.[0]?.key ?? ""
    const fields = { customerKey: name, subscriptionExternalId: name }
    subscriptionId = (await billing.subscriptions.create(makeSubscription(planId, "p", fields))).id
    bodies = []
    handled = Promise.withResolvers()
    beforeCounting = async () => undefined
    await start("success")
  })
  afterEach(async () => {
    faulty.injectAt(0, "fail")
    for (const { disconnect } of requests.splice(0)) disconnect()
    await new Promise((resolve) => server.close(resolve))
  })

  const call = (behaviour: Behaviour, method = "GET") => {
    const headers = { authorization: `Bearer ${key}` }
    const request = openRequest(server, isHttp2, `?do=${behaviour}`, { method, headers })
    requests.push(request)
    return request
  }
  const openStream = async () => {
    const request = call("stream")
    const response = await request.response
    expect(await response.readChunk()).toBe("first")
    return { ...request, ...response }
  }
  /** What the quota calls used, with what is reserved, and what is charged. */
  const readUsage = async () => {
    const { usage } = gate.account("acme").meteringBucket(meteringBucketId)
    const { meters } = await usage.quotas(subscriptionId)
    const { data } = await usage.series(subscriptionId, { step: "period" })
    return { used: meters["requests"]?.used, charged: data.at(-1)?.meters["requests"] }
  }
  const expectCharged = (charged: number) =>
    eventually(async () => expect(await readUsage()).toEqual({ used: charged, charged }))

  it.each<readonly [behaviour: Behaviour, method: string, status: number, charged: number]>([
    ["ok", "GET", 200, 1],
    ["ok", "HEAD", 200, 1],
    ["redirect", "GET", 302, 1],
    ["unchanged", "GET", 304, 1],
    ["respond-twice", "GET", 200, 1],
    ["missing", "GET", 404, 0],
    ["missing", "HEAD", 404, 0],
    ["throw", "GET", 500, 0]
  ])("charges by the status: %s %s is answered with %i and charged %i times", async (behaviour, method, ...rest) => {
    const [status, charged] = rest
    const response = await call(behaviour, method).response
    await response.readRest()
    expect(response.status).toBe(status)
    await expectCharged(charged)
  })

  it("reserves while a response is streamed, and charges at its end", async () => {
    const { headers, readRest } = await openStream()
    expect(headers["ratelimit"]).toMatch(/^"requests";r=1;t=\d+$/)
    expect(await readUsage()).toEqual({ used: 1, charged: 0 })
    bodies[0]?.end(" last")
    expect(await readRest()).toBe(" last")
    await expectCharged(1)
  })

  it("charges a client that disconnects in the middle of a response, because it has got a part of it", async () => {
    for (const charged of [1, 2]) {
      const { disconnect } = await openStream()
      expect(await readUsage()).toEqual({ used: charged, charged: charged - 1 })
      disconnect()
      await expectCharged(charged)
    }
    const refused = await call("stream").response
    expect(refused.status).toBe(429)
    await refused.readRest()
  })

  it("charges only whole responses on request: neither if the client disconnects nor if the stream fails", async () => {
    await new Promise((resolve) => server.close(resolve))
    await start("complete")
    const first = await openStream()
    first.disconnect()
    await expectCharged(0)
    const second = await openStream()
    bodies[1]?.destroy(new Error("The stream fails"))
    // Some frameworks leave the response open.
    second.disconnect()
    await expectCharged(0)
    const third = await openStream()
    bodies[2]?.end(" last")
    await third.readRest()
    await expectCharged(1)
  })

  it("gives back if the handler never answers and the client disconnects", async () => {
    const { disconnect } = call("never")
    await handled.promise
    expect(await readUsage()).toEqual({ used: 1, charged: 0 })
    disconnect()
    await expectCharged(0)
  })

  it("gives back if the client disconnects while its request is authorized", async () => {
    const connection = once(server, "connection")
    const [authorizing, disconnected] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    beforeCounting = () => {
      authorizing.resolve()
      return disconnected.promise
    }
    const { disconnect } = call("ok")
    const [socket] = await connection
    await authorizing.promise
    disconnect()
    await once(socket, "close")
    disconnected.resolve()
    await handled.promise
    await expectCharged(0)
  })

  it("refuses more than the quota while requests are in flight, and reserves nothing for them", async () => {
    const pending = call("never")
    await handled.promise
    const stream = await openStream()
    const refused = await call("ok").response
    expect(refused.status).toBe(429)
    expect(JSON.parse(await refused.readRest())).toMatchObject({ code: "quota-exceeded", max: 2 })
    expect(await readUsage()).toEqual({ used: 2, charged: 0 })
    pending.disconnect()
    await eventually(async () => expect(await readUsage()).toEqual({ used: 1, charged: 0 }))
    await (await call("ok").response).readRest()
    bodies[0]?.end()
    await stream.readRest()
    await expectCharged(2)
  })

  it.each(["fail", "lose-reply"] as const)("charges once if the store has the fault %s at the end", async (fault) => {
    const { readRest } = await openStream()
    faulty.injectAt(1, fault)
    bodies[0]?.end(" last")
    expect(await readRest()).toBe(" last")
    await eventually(() => expect(faulty.calls()).toBeGreaterThan(1))
    await expectCharged(1)
  })

  it("gives back once if the store is unavailable at first", async () => {
    const { disconnect } = call("never")
    await handled.promise
    faulty.injectAt(1, "fail")
    disconnect()
    await eventually(() => expect(faulty.calls()).toBeGreaterThan(1))
    await expectCharged(0)
  })
})
