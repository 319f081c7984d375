/**
 * Keys with `ipAllow` on protected routes: each framework takes the address that it knows itself, and no header by default.
 */
import { ConfigurationError, createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import * as express from "@tollgate/express"
import * as fastify from "@tollgate/fastify"
import type { RequireApiKeyOptions } from "@tollgate/fetch"
import * as koa from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { type FaultyStore, makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall } from "@tollgate/testing"
import makeExpress from "express"
import makeFastify from "fastify"
import Koa from "koa"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { frameworks, listen, type ProtectedRoute } from "./protectingFrameworks.ts"

let gate: Tollgate
let faulty: FaultyStore
let production: LocalKeyBucketHandle
const token = "a-management-token-for-acme"

beforeAll(async () => {
  faulty = makeFaultyStore(MemoryStore.open(), isBackgroundCall)
  const tokens = [{ token, account: "acme" }]
  gate = await createTollgate({ store: faulty.store, secret: "test-secret-with-at-least-32-characters", tokens })
  production = gate.account("acme").keyBucket("production")
  await production.consumers.create({ name: "alice" })
})
afterAll(() => gate.close())

const createKey = async (ipAllow: ReadonlyArray<string>) =>
  (await production.keys.create("alice", { ipAllow })).key ?? ""

const forwarded = "203.0.113.7"
const getHeaders = (key: string) => ({
  authorization: `Bearer ${key}`,
  "x-forwarded-for": forwarded,
  "x-real-ip": forwarded,
  forwarded: `for=${forwarded}`
})

const problem = {
  type: "urn:tollgate:problem:ip-not-allowed",
  title: "IP address not allowed",
  status: 403,
  detail: "The API key must not be used from this IP address",
  code: "ip-not-allowed"
}

describe.each(frameworks)("a key with ipAllow in $name", ({ name, serve, requireApiKey }) => {
  let handled = 0
  const routes: Array<ProtectedRoute> = []
  afterEach(() => Promise.all(routes.splice(0).map(({ close }) => close())))
  const start = async (options?: RequireApiKeyOptions) => {
    handled = 0
    const route = await serve(production, options, () => {
      handled++
    })
    routes.push(route)
    return (key: string) => route.call("", getHeaders(key))
  }

  it.skipIf(name.startsWith("Fetch"))("passes from the address of its socket", async () => {
    const call = await start()
    expect((await call(await createKey(["127.0.0.0/8"]))).status).toBe(200)
    expect(handled).toBe(1)
  })

  it("is refused with 403 from another address, whatever headers say, and takes nothing", async () => {
    const call = await start({ rateLimit: { limit: 1, per: "day", by: "key" } })
    const key = await createKey([forwarded])
    for (let count = 0; count < 2; count++) {
      const response = await call(key)
      expect([response.status, response.headers.get("ratelimit"), handled]).toEqual([403, null, 0])
      const { instance, ...rest } = (await response.json()) as Record<string, unknown>
      expect(rest).toEqual(problem)
      expect(instance).toBe(response.headers.get("x-request-id"))
    }
  })

  it("takes the address of the option ip, which is called only for such a key", async () => {
    let calls = 0
    const ip = () => {
      calls++
      return calls === 1 ? forwarded : undefined
    }
    const call = await start({ ip })
    expect((await call(await createKey([]))).status).toBe(200)
    expect((await call("tg_unknown")).status).toBe(401)
    expect(calls).toBe(0)
    const key = await createKey([forwarded, "127.0.0.1"])
    expect((await call(key)).status).toBe(200)
    // It replaces the address of the framework, also if it finds none.
    expect((await call(key)).status).toBe(403)
    expect([calls, handled]).toEqual([2, 2])
  })

  it("fails with the error of the option ip, and if it returns no address", async () => {
    const key = await createKey(["127.0.0.1"])
    const functions = [
      () => {
        throw new Error("no socket")
      },
      async () => "127.0.0.1"
    ]
    for (const ip of functions) {
      const call = await start({ ip } as unknown as RequireApiKeyOptions)
      expect((await call(key)).status).toBe(500)
      expect(handled).toBe(0)
    }
    const invalid = { ip: "127.0.0.1" } as unknown as RequireApiKeyOptions
    expect(() => requireApiKey(production, invalid)).toThrow(ConfigurationError)
  })

  it("passes while the store is unavailable only from its addresses", async () => {
    let address: string | undefined
    const call = await start({ ip: () => address, onStoreUnavailable: "allow" })
    const key = await createKey([forwarded])
    // The refusal tells that the key is valid, and from where.
    expect((await call(key)).status).toBe(403)
    faulty.injectAt(1, "fail")
    expect((await call(key)).status).toBe(503)
    address = forwarded
    faulty.injectAt(1, "fail")
    expect((await call(key)).status).toBe(200)
  })
})

describe("a framework that trusts its proxy", () => {
  const cases: ReadonlyArray<readonly [string, (trusts: boolean) => Promise<{ url: string; close: () => unknown }>]> = [
    [
      "Express",
      (trusts) =>
        listen(
          makeExpress()
            .set("trust proxy", trusts)
            .get("/", express.requireApiKey(production), (_, res) => void res.end())
        )
    ],
    [
      "Koa",
      (trusts) => {
        const app = new Koa({ proxy: trusts })
        app.use(koa.requireApiKey(production)).use((ctx) => {
          ctx.body = "Hello"
        })
        return listen(app.callback())
      }
    ],
    [
      "Fastify",
      async (trusts) => {
        const app = makeFastify({ trustProxy: trusts })
        app.get("/", { onRequest: fastify.requireApiKey(production) }, async () => "Hello")
        return { url: await app.listen({ port: 0, host: "127.0.0.1" }), close: () => app.close() }
      }
    ]
  ]
  it.each(cases)("gives its address of the client: %s", async (_, serve) => {
    const key = await createKey([forwarded])
    for (const [trusts, status] of [
      [true, 200],
      [false, 403]
    ] as const) {
      const { url, close } = await serve(trusts)
      expect((await fetch(url, { headers: getHeaders(key) })).status).toBe(status)
      await close()
    }
  })
})

describe("a client", () => {
  it("sends the address with a key to verify", async () => {
    const { url, close } = await listen(toNodeHandler(gate))
    const { verify } = createClient({ baseUrl: url, token }).account("acme").keyBucket("production")
    const key = await createKey([forwarded])
    expect(await verify(key, { ip: forwarded })).toMatchObject({ valid: true })
    for (const options of [{ ip: "::1" }, { ip: undefined }, {}, undefined]) {
      expect(await verify(key, options)).toMatchObject({ valid: false, reason: "ip-not-allowed" })
    }
    await close()
  })
})
