/**
 * Which paths a binding leaves to the application: below a mount path, all of `/v1` is Tollgate's; at the root, only the
 * paths that it has.
 */
import { createTollgate } from "@tollgate/core"
import * as express from "@tollgate/express"
import * as fastify from "@tollgate/fastify"
import * as koa from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import makeExpress from "express"
import makeFastify from "fastify"
import Koa from "koa"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { listen } from "./protectingFrameworks.ts"

const gate = await createTollgate({ store: MemoryStore.open(), secret: "test-secret-with-at-least-32-characters" })
afterAll(() => gate.close())

/** Serves the HTTP API at a path, and the text `application` everywhere else. */
type Serve = (mount: string) => ReturnType<typeof listen>

const frameworks: ReadonlyArray<readonly [string, Serve]> = [
  [
    "node:http",
    (prefix) => {
      const handle = toNodeHandler(gate, { prefix })
      return listen((req, res) => void handle(req, res, () => res.end("application")))
    }
  ],
  [
    "Express",
    (mount) => {
      const app = makeExpress()
      app.use(mount === "" ? "/" : mount, express.tollgate(gate))
      app.use((_req, res) => void res.send("application"))
      return listen(app)
    }
  ],
  [
    "a router of Express",
    (mount) => {
      const app = makeExpress()
      app.use(mount === "" ? "/" : mount, makeExpress.Router().use(express.tollgate(gate)))
      app.use((_req, res) => void res.send("application"))
      return listen(app)
    }
  ],
  [
    "Koa",
    (prefix) => {
      const app = new Koa()
      app.use(koa.tollgate(gate, { prefix }))
      app.use((ctx) => {
        ctx.body = "application"
      })
      return listen(app.callback())
    }
  ],
  [
    "Fastify",
    async (prefix) => {
      const app = makeFastify()
      app.register(fastify.tollgate(gate), { prefix })
      app.setNotFoundHandler((_request, reply) => reply.send("application"))
      const url = await app.listen({ port: 0, host: "127.0.0.1" })
      return { url, close: () => app.close() }
    }
  ]
]

describe.each(frameworks)("%s", (_, serve) => {
  let close: () => unknown
  afterEach(() => close())

  const open = async (mount: string) => {
    const server = await serve(mount)
    close = server.close
    return (path: string, method = "GET") => fetch(`${server.url}${mount}${path}`, { method })
  }

  it("responds with a problem to a mistyped path below a mount path", async () => {
    const call = await open("/admin")
    for (const path of ["/v1/accounts/acme/metering-buckets", "/v1/", "/v1", "/v1?a=1", "/v1/%6detering"]) {
      for (const method of ["GET", "POST"]) {
        const response = await call(path, method)
        expect([path, response.status, response.headers.get("content-type")]).toEqual([
          path,
          404,
          "application/problem+json"
        ])
        expect(await response.json()).toMatchObject({ code: "not-found", status: 404 })
      }
    }
  })

  it("leaves other paths below a mount path to the application", async () => {
    const call = await open("/admin")
    for (const path of ["/other", "", "/v10/metering", "min"]) {
      expect([path, await (await call(path)).text()]).toEqual([path, "application"])
    }
  })

  it("leaves every path that it does not have to the application at the root", async () => {
    const call = await open("")
    for (const path of ["/v1/orders", "/v1", "/other", "/"]) {
      expect([path, await (await call(path)).text()]).toEqual([path, "application"])
    }
    expect((await call("/v1/metering")).status).toBe(401)
  })

  it.each(["", "/admin"])("responds with 405 and Allow to a wrong method, mounted at %j", async (mount) => {
    const response = await (await open(mount))("/v1/metering", "PUT")
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"])
    expect(await response.json()).toMatchObject({ code: "method-not-allowed" })
  })
})
