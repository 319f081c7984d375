/**
 * `rateLimit` limits requests without a key, in every framework.
 */
import { ConfigurationError, createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import * as express from "@tollgate/express"
import * as fastify from "@tollgate/fastify"
import * as fetchBinding from "@tollgate/fetch"
import * as koa from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import * as node from "@tollgate/node"
import { type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { Effect } from "effect"
import makeExpress from "express"
import makeFastify from "fastify"
import Koa from "koa"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { listen } from "./protectingFrameworks.ts"

type Options = Omit<fetchBinding.RateLimitRouteOptions, "by">
type Call = (client: string) => Promise<Response>

let isUnavailable = false
let gate: Tollgate
let production: LocalKeyBucketHandle
const closing: Array<() => Promise<unknown>> = []

beforeAll(async () => {
  const inner = MemoryStore.open()
  const unavailable = new StoreUnavailable({
    operation: "commit",
    problem: "gone",
    retryable: true,
    outcome: "not-applied",
    cause: undefined
  })
  const commit: StoreOperations["commit"] = (...args) =>
    isUnavailable ? Effect.fail(unavailable) : inner.commit(...args)
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const store = { ...inner, commit }
  gate = await createTollgate({ store, secret: "test-secret-with-at-least-32-characters", logger: silent })
  production = gate.account("acme").keyBucket("production")
})
afterAll(() => gate.close())
afterEach(async () => {
  isUnavailable = false
  for (const close of closing.splice(0)) await close()
})

const callOver = async (listener: Parameters<typeof listen>[0]): Promise<Call> => {
  const { url, close } = await listen(listener)
  closing.push(close)
  return (client) => fetch(url, { headers: { client } })
}

interface Framework {
  readonly name: string
  readonly serve: (options: Options) => Promise<Call>
}

/** The client names itself; a server would take its address. */
const frameworks: ReadonlyArray<Framework> = [
  {
    name: "node:http",
    serve: (options) => {
      const limit = node.rateLimit(production, { ...options, by: (req) => req.headers["client"] as string })
      return callOver((req, res) => limit(req, res, () => res.end("ok")))
    }
  },
  {
    name: "Express",
    serve: (options) => {
      const app = makeExpress()
      app.get("/", express.rateLimit(production, { ...options, by: (req) => req.get("client") }), (_, res) => {
        res.send("ok")
      })
      return callOver(app)
    }
  },
  {
    name: "Koa",
    serve: (options) => {
      const app = new Koa()
      app.use(koa.rateLimit(production, { ...options, by: (ctx) => ctx.get("client") }))
      app.use((ctx) => {
        ctx.body = "ok"
      })
      return callOver(app.callback())
    }
  },
  {
    name: "Fastify",
    serve: async (options) => {
      const app = makeFastify()
      const onRequest = fastify.rateLimit(production, {
        ...options,
        by: ({ headers }) => headers["client"] as string
      })
      app.get("/", { onRequest }, async () => "ok")
      const url = await app.listen({ port: 0, host: "127.0.0.1" })
      closing.push(() => app.close())
      return (client) => fetch(url, { headers: { client } })
    }
  },
  {
    name: "Fetch",
    serve: async (options) => {
      const limit = fetchBinding.rateLimit(production, {
        ...options,
        by: ({ headers }) => headers.get("client") ?? undefined
      })
      return async (client) => {
        const result = await limit(new Request("http://localhost/", { headers: { client } }))
        return result.allowed ? new Response("ok", { headers: result.headers }) : result.response
      }
    }
  }
]

describe.each(frameworks)("rateLimit in $name", ({ name, serve }) => {
  const limitName = name.replace(/\W/g, "-")

  it("lets a client through up to the limit, then responds with 429, and does not affect others", async () => {
    const call = await serve({ name: limitName, limit: 2, per: "hour" })
    for (const remaining of [1, 0]) {
      const response = await call("ann")
      expect([response.status, await response.text()]).toEqual([200, "ok"])
      expect(response.headers.get("ratelimit-policy")).toBe(`"${limitName}";q=2;w=3600`)
      expect(response.headers.get("ratelimit")).toMatch(new RegExp(`^"${limitName}";r=${remaining};t=\\d+$`))
    }
    const refused = await call("ann")
    expect(refused.status).toBe(429)
    expect(refused.headers.get("content-type")).toMatch(/^application\/problem\+json/)
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(1_700)
    expect(await refused.json()).toMatchObject({
      code: "rate-limited",
      limit: limitName,
      instance: refused.headers.get("x-request-id")
    })
    expect((await call("bob")).status).toBe(200)
    expect((await call("x".repeat(2_000))).status).toBe(200)
  })

  it("refuses or passes requests while the store cannot be reached", async () => {
    const limit = { name: `${limitName}-store`, limit: 2, per: "hour" } as const
    const [closed, open] = [await serve(limit), await serve({ ...limit, onStoreUnavailable: "allow" })]
    isUnavailable = true
    const refused = await closed("ann")
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"])
    expect((await open("ann")).status).toBe(200)
  })

  it("refuses options that make no sense when the route is made", async () => {
    for (const options of [
      {},
      { limit: 0, per: "hour" },
      { limit: 1, per: "year" },
      { limit: 1, per: "hour", of: 1 }
    ]) {
      await expect((async () => serve(options as Options))()).rejects.toThrow(ConfigurationError)
    }
  })
})

describe("rateLimit", () => {
  it("shares one limit among requests whose client is not known, and apart from those of keys", async () => {
    const policy = { name: "shared", limit: 1, per: "hour" } as const
    const limit = fetchBinding.rateLimit(production, { ...policy, by: () => undefined })
    const request = () => limit(new Request("http://localhost/"))
    expect([(await request()).allowed, (await request()).allowed]).toEqual([true, false])
    const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
    const protect = fetchBinding.requireApiKey(production, { rateLimit: { ...policy, by: { value: "x" } } })
    const headers = { authorization: `Bearer ${apiKeys[0].key}` }
    expect((await protect(new Request("http://localhost/", { headers }))).allowed).toBe(true)
  })

  it("is exact for concurrent requests", async () => {
    const limit = fetchBinding.rateLimit(production, { name: "exact", limit: 10, per: "hour", by: () => "ann" })
    const results = await Promise.all(Array.from({ length: 100 }, () => limit(new Request("http://localhost/"))))
    expect(results.filter(({ allowed }) => allowed)).toHaveLength(10)
  })

  it("names a function that returns something else than a text", async () => {
    const limit = fetchBinding.rateLimit(production, { limit: 1, per: "hour", by: () => 7 as unknown as string })
    await expect(limit(new Request("http://localhost/"))).rejects.toThrow("by: must return a string or undefined")
  })
})
