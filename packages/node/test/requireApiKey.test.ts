import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import { inspect } from "node:util"
import { createTollgate, type LocalKeyBucketHandle, StoreUnavailable, type Tollgate } from "@tollgate/core"
import { type RequireApiKeyOptions, requireApiKey as requireInExpress } from "@tollgate/express"
import { requireApiKey as requireInKoa } from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import type { StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import express from "express"
import Koa from "koa"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"

let gate: Tollgate
let keyBucket: LocalKeyBucketHandle
let key: string
const servers: Array<Server> = []

let isStoreDown = false
const storeDown = new StoreUnavailable({
  operation: "getByUniqueKey",
  problem: "internal-host:6379 is not reachable",
  retryable: true,
  outcome: "not-applied"
})
const memory = MemoryStore.open()
const store: StoreOperations = {
  ...memory,
  getByUniqueKey: (...args) => (isStoreDown ? Effect.fail(storeDown) : memory.getByUniqueKey(...args))
}

beforeAll(async () => {
  gate = await createTollgate({ store, secret: "test-secret-with-at-least-32-characters" })
  const consumer = { name: "alice", tags: { plan: "pro" }, metadata: { seats: 3 } }
  keyBucket = gate.account("acme").keyBucket("b")
  key = (await keyBucket.consumers.create(consumer, { withApiKey: true })).apiKeys[0].key ?? ""
})
afterAll(async () => {
  for (const server of servers) server.close()
  await gate.close()
})

const frameworks: ReadonlyArray<readonly [string, (options?: RequireApiKeyOptions) => RequestListener]> = [
  [
    "Express",
    (options) => {
      const app = express()
      app.get("/", requireInExpress(keyBucket, options), (req, res) => void res.json(req.consumer))
      return app
    }
  ],
  [
    "Koa",
    (options) => {
      const app = new Koa()
      app.use(requireInKoa(keyBucket, { ...options }))
      app.use((ctx) => {
        ctx.body = ctx.state["consumer"]
      })
      return app.callback()
    }
  ]
]

describe.each(frameworks)("requireApiKey in %s", (_, protect) => {
  const serve = async (options?: RequireApiKeyOptions): Promise<string> => {
    const server = createServer(protect(options)).listen(0, "127.0.0.1")
    servers.push(server)
    await once(server, "listening")
    const address = server.address()
    return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/`
  }
  const bearer = (value = key) => ({ headers: { authorization: `Bearer ${value}` } })

  it("gives the route the consumer", async () => {
    const response = await fetch(await serve(), bearer())
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      name: "alice",
      id: expect.stringMatching(/^csmr_/),
      keyId: expect.stringMatching(/^key_/),
      tags: { plan: "pro" },
      metadata: { seats: 3 },
      remaining: {}
    })
  })

  it("responds with 401 without a valid key", async () => {
    const url = await serve()
    for (const options of [{}, bearer("wrong"), bearer(`${key}x`), { headers: { authorization: key } }]) {
      const response = await fetch(url, options)
      expect(response.status).toBe(401)
      expect(response.headers.get("www-authenticate")).toBe("Bearer")
      expect(response.headers.get("content-type")).toContain("application/problem+json")
      expect(await response.json()).toMatchObject({ status: 401, type: "urn:tollgate:problem:unauthorized" })
    }
  })

  it("responds with 503 when the store is unavailable, without internal details", async () => {
    const url = await serve()
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined)
    isStoreDown = true
    const response = await fetch(url, bearer())
    isStoreDown = false
    const logLines = log.mock.calls.map((line) => inspect(line))
    log.mockRestore()
    const requestLines = logLines.filter((line) => line.includes(response.headers.get("x-request-id") ?? "no id"))
    expect(requestLines).toHaveLength(1)
    expect(response.status).toBe(503)
    expect(response.headers.get("retry-after")).toBe("1")
    expect(response.headers.get("content-type")).toContain("application/problem+json")
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({
      type: "urn:tollgate:problem:store-unavailable",
      instance: response.headers.get("x-request-id"),
      outcome: "not-applied"
    })
    expect(text).not.toContain("internal-host")
  })

  it("validates its options, and names the invalid one", async () => {
    const metering = { meteringBucketId: "bckt_1", meters: { requests: 1 } }
    const invalidOptions: ReadonlyArray<readonly [option: string, options: object]> = [
      ["meter", { meter: metering }],
      ["account", { account: "acme" }],
      ["bucket", { bucket: "b" }],
      ["metering.meteringBucketId", { metering: { ...metering, meteringBucketId: undefined } }],
      ["metering.meters.requests", { metering: { ...metering, meters: { requests: 0 } } }],
      ["metering.meter", { metering: { ...metering, meter: 1 } }],
      ["keyFrom", { keyFrom: { cookie: "key" } }],
      ["from", { from: "x-api-key" }]
    ]
    for (const [option, options] of invalidOptions) {
      expect(() => protect(options as RequireApiKeyOptions)).toThrow(
        expect.objectContaining({ _tag: "ConfigurationError", option })
      )
    }
    protect({ metering })
  })

  it("reads the key from the configured header or query parameter", async () => {
    const byHeader = await serve({ keyFrom: { header: "X-Api-Key" } })
    expect((await fetch(byHeader, { headers: { "x-api-key": key } })).status).toBe(200)
    expect((await fetch(byHeader, bearer())).status).toBe(401)
    const byQuery = await serve({ keyFrom: { query: "api_key" } })
    expect((await fetch(`${byQuery}?api_key=${key}`)).status).toBe(200)
    expect((await fetch(`${byQuery}?api_key=${key}&api_key=${key}`)).status).toBe(401)
  })

  it("counts uses, reports the remaining quota, and responds with 429 and Retry-After", async () => {
    const { meteringBuckets, meteringBucket } = gate.account("acme")
    const { id: meteringBucketId } = await meteringBuckets.create()
    const { plans, subscriptions } = meteringBucket(meteringBucketId)
    await plans.create({ planExternalId: "p", meters: { requests: { max: 2 } } })
    const subscribe = (status: "active" | "unpaid") =>
      subscriptions.create({ customerKey: "alice", planExternalIds: ["p"], status })
    const url = await serve({ metering: { meteringBucketId, meters: { requests: 1 } } })
    expect((await fetch(url, bearer())).status).toBe(403)
    await subscribe("unpaid")
    const unpaid = await fetch(url, bearer())
    expect(await unpaid.json()).toMatchObject({ status: 403, type: "urn:tollgate:problem:subscription-not-active" })
    await subscribe("active")
    const first = await fetch(url, bearer())
    expect(first.headers.get("ratelimit")).toMatch(/^"requests";r=1;t=\d+$/)
    expect(await first.json()).toMatchObject({ remaining: { requests: 1 } })
    await fetch(url, bearer())
    const overQuota = await fetch(url, bearer())
    expect(overQuota.status).toBe(429)
    expect(Number(overQuota.headers.get("retry-after"))).toBeGreaterThan(86_400)
    expect(overQuota.headers.get("ratelimit")).toMatch(/^"requests";r=0;t=\d+$/)
  })
})
