import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import { inspect } from "node:util"
import { createTollgate, StoreUnavailable, type Tollgate } from "@tollgate/core"
import { requireApiKey as requireInExpress } from "@tollgate/express"
import { requireApiKey as requireInKoa } from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import type { RequireApiKeyOptions } from "@tollgate/node"
import express from "express"
import Koa from "koa"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"

let gate: Tollgate
let key: string
let bucketId: string
const servers: Array<Server> = []

const subscription = (planId: string, customerKey: string, status: "active" | "unpaid") => ({
  planIds: [planId],
  planExternalIds: ["p"],
  status,
  type: "periodic" as const,
  renewalStrategy: "monthly" as const,
  region: "us-east1" as const,
  customerKey,
  subscriptionExternalId: `${customerKey} ${status}`,
  customerExternalId: "c"
})

beforeAll(async () => {
  gate = await createTollgate({ store: MemoryStore.open(), secret: "a secret of the tests, and of nobody else" })
  const consumer = { name: "alice", tags: { plan: "pro" }, metadata: { seats: 3 } }
  key = (await gate.consumers.create("acme", "b", consumer, { withApiKey: true })).apiKeys?.[0]?.key ?? ""
})
afterAll(async () => {
  for (const server of servers) server.close()
  await gate.close()
})

/** The gate that routes ask; a test may let its store down. */
const asked: Tollgate = new Proxy({} as Tollgate, {
  get: (_, name) => (isDown && name === "authorize" ? () => Promise.reject(down) : Reflect.get(gate, name))
})
let isDown = false
const down = new StoreUnavailable({
  operation: "getByUniqueKey",
  problem: "a secret place is not reachable",
  retryable: true,
  outcome: "not-applied"
})

const frameworks: ReadonlyArray<readonly [string, (options: RequireApiKeyOptions) => RequestListener]> = [
  [
    "Express",
    (options) => {
      const app = express()
      app.get("/", requireInExpress(asked, options), (req, res) => void res.json(req.consumer))
      return app
    }
  ],
  [
    "Koa",
    (options) => {
      const app = new Koa()
      app.use(requireInKoa(asked, options))
      app.use((ctx) => {
        ctx.body = ctx.state["consumer"]
      })
      return app.callback()
    }
  ]
]

describe.each(frameworks)("a route protected in %s", (_, protect) => {
  const serve = async (options: Partial<RequireApiKeyOptions> = {}): Promise<string> => {
    const server = createServer(protect({ account: "acme", bucket: "b", ...options })).listen(0, "127.0.0.1")
    servers.push(server)
    await once(server, "listening")
    const address = server.address()
    return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/`
  }
  const bearer = (value = key) => ({ headers: { authorization: `Bearer ${value}` } })

  it("knows who is calling", async () => {
    const answer = await fetch(await serve(), bearer())
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({
      sub: "alice",
      id: expect.stringMatching(/^csmr_/),
      keyId: expect.stringMatching(/^key_/),
      tags: { plan: "pro" },
      metadata: { seats: 3 },
      remaining: {}
    })
  })

  it("lets nobody in without a valid key, and says no more", async () => {
    const url = await serve()
    for (const options of [{}, bearer("wrong"), bearer(`${key}x`), { headers: { authorization: key } }]) {
      const answer = await fetch(url, options)
      expect(answer.status).toBe(401)
      expect(answer.headers.get("www-authenticate")).toBe("Bearer")
      expect(answer.headers.get("content-type")).toContain("application/problem+json")
      expect(await answer.json()).toMatchObject({ status: 401, type: "urn:tollgate:problem:unauthorized" })
    }
  })

  it("says that the store is away, when to come again, and no more", async () => {
    const url = await serve()
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined)
    isDown = true
    const answer = await fetch(url, bearer())
    isDown = false
    const lines = log.mock.calls.map((line) => inspect(line))
    log.mockRestore()
    const logged = lines.filter((line) => line.includes(answer.headers.get("x-request-id") ?? "no id"))
    expect(logged).toHaveLength(1)
    expect(answer.status).toBe(503)
    expect(answer.headers.get("retry-after")).toBe("1")
    expect(answer.headers.get("content-type")).toContain("application/problem+json")
    const text = await answer.text()
    expect(JSON.parse(text)).toMatchObject({
      type: "urn:tollgate:problem:store-unavailable",
      instance: answer.headers.get("x-request-id"),
      outcome: "not-applied"
    })
    expect(text).not.toContain("secret place")
  })

  it("checks its options when it is made, and names the one that is wrong", async () => {
    const metering = { meteringBucketId: "bckt_1", meters: { requests: 1 } }
    const wrong: ReadonlyArray<readonly [option: string, options: object]> = [
      ["meter", { meter: metering }],
      ["acount", { acount: "acme" }],
      ["account", { account: "ac me" }],
      ["account", { account: undefined }],
      ["bucket", { bucket: "" }],
      ["metering.bucketId", { metering: { ...metering, bucketId: undefined } }],
      ["metering.meters.requests", { metering: { ...metering, meters: { requests: 0 } } }],
      ["metering.meter", { metering: { ...metering, meter: 1 } }],
      ["from", { from: { cookie: "key" } }],
      ["from", { from: "x-api-key" }]
    ]
    for (const [option, options] of wrong) {
      expect(() => protect({ account: "acme", bucket: "b", ...options } as RequireApiKeyOptions)).toThrow(
        expect.objectContaining({ _tag: "ConfigurationError", option })
      )
    }
    protect({ account: "acme", bucket: "b", metering })
  })

  it("finds the key in the header or the query parameter of choice", async () => {
    const byHeader = await serve({ from: { header: "X-Api-Key" } })
    expect((await fetch(byHeader, { headers: { "x-api-key": key } })).status).toBe(200)
    expect((await fetch(byHeader, bearer())).status).toBe(401)
    const byQuery = await serve({ from: { query: "api_key" } })
    expect((await fetch(`${byQuery}?api_key=${key}`)).status).toBe(200)
    expect((await fetch(`${byQuery}?api_key=${key}&api_key=${key}`)).status).toBe(401)
  })

  it("counts, tells what is left, and ends with 429 and when to come again", async () => {
    bucketId = (await gate.meteringBuckets.create("acme")).id
    const plan = await gate.plans.create(bucketId, {
      label: "P",
      planExternalId: "p",
      meters: { requests: { max: 2 } }
    })
    const url = await serve({ metering: { meteringBucketId: bucketId, meters: { requests: 1 } } })
    expect((await fetch(url, bearer())).status).toBe(403)
    await gate.subscriptions.create(bucketId, subscription(plan.id, "alice", "unpaid"))
    const unpaid = await fetch(url, bearer())
    expect(await unpaid.json()).toMatchObject({ status: 403, type: "urn:tollgate:problem:subscription-not-active" })
    await gate.subscriptions.create(bucketId, subscription(plan.id, "alice", "active"))
    const first = await fetch(url, bearer())
    expect(first.headers.get("ratelimit")).toMatch(/^"requests";r=1;t=\d+$/)
    expect(await first.json()).toMatchObject({ remaining: { requests: 1 } })
    await fetch(url, bearer())
    const over = await fetch(url, bearer())
    expect(over.status).toBe(429)
    expect(Number(over.headers.get("retry-after"))).toBeGreaterThan(86_400)
    expect(over.headers.get("ratelimit")).toMatch(/^"requests";r=0;t=\d+$/)
  })
})
