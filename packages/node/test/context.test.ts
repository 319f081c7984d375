/**
 * `authenticate` receives the request of the framework, so that it can use what earlier middleware has found out.
 */
import { createTollgate, type Tollgate } from "@tollgate/core"
import * as express from "@tollgate/express"
import * as fastify from "@tollgate/fastify"
import * as koa from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import makeExpress, { type ErrorRequestHandler } from "express"
import makeFastify from "fastify"
import Koa from "koa"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { listen } from "./protectingFrameworks.ts"

interface Session {
  readonly account: string
}
declare module "express-serve-static-core" {
  interface Request {
    session?: Session
  }
}
declare module "fastify" {
  interface FastifyRequest {
    session?: Session
  }
}

let gate: Tollgate
let received: ReadonlyArray<unknown> = []
beforeAll(async () => {
  gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "test-secret-with-at-least-32-characters",
    authenticate: async (_request, context) => {
      received = [...received, context]
      // Koa keeps what belongs to a request in `ctx.state`.
      const { session, state } = context as { readonly session?: Session; readonly state?: { session?: Session } }
      const account = session?.account ?? state?.session?.account
      return account === undefined ? undefined : { id: "user-1", account, access: "write" }
    }
  })
})
afterAll(() => gate.close())

/** The session of the request, as an authentication middleware would find it. */
const readSession = (account: string | string[] | null | undefined): Session | undefined =>
  typeof account === "string" ? { account } : undefined

interface Server {
  readonly url: string
  readonly close: () => Promise<unknown>
}

/** What a context of the application's own looks like. */
const replacement = { session: { account: "acme" } }
type Options = { readonly context?: () => unknown }

const frameworks: ReadonlyArray<{
  readonly name: string
  readonly serve: (options?: Options) => Promise<Server>
  readonly isHostRequest: (context: unknown) => boolean
}> = [
  {
    name: "node:http, the request",
    serve: (options) => {
      const handle = toNodeHandler(gate, options)
      return listen((req, res) => {
        Object.assign(req, { session: readSession(req.headers["x-user"]) })
        void handle(req, res)
      })
    },
    isHostRequest: (context) => Object.hasOwn(context as object, "rawHeaders")
  },
  {
    name: "Express, its request",
    serve: (options) => {
      const app = makeExpress()
      app.use((req, _res, next) => {
        const session = readSession(req.get("x-user"))
        if (session !== undefined) req.session = session
        next()
      })
      app.use("/", express.tollgate(gate, options))
      return listen(app)
    },
    isHostRequest: (context) => "baseUrl" in (context as object)
  },
  {
    name: "Koa, its context",
    serve: (options) => {
      const app = new Koa()
      app.use((ctx, next) => {
        ctx.state["session"] = readSession(ctx.req.headers["x-user"])
        return next()
      })
      app.use(koa.tollgate(gate, options))
      return listen(app.callback())
    },
    isHostRequest: (context) => "state" in (context as object)
  },
  {
    name: "Fastify, its request",
    serve: async (options) => {
      const app = makeFastify()
      app.addHook("onRequest", async (request) => {
        const session = readSession(request.headers["x-user"])
        if (session !== undefined) request.session = session
      })
      app.register(fastify.tollgate(gate, options))
      return { url: await app.listen({ port: 0, host: "127.0.0.1" }), close: () => app.close() }
    },
    isHostRequest: (context) => "routeOptions" in (context as object)
  }
]

describe.each(frameworks)("in $name", ({ serve, isHostRequest }) => {
  const list = async ({ url }: Server, headers: Readonly<Record<string, string>>) =>
    (await fetch(`${url}/v1/accounts/acme/key-buckets/production/consumers`, { headers })).status

  it("is what authenticate receives", async () => {
    const server = await serve()
    received = []
    expect(await list(server, { "x-user": "acme" })).toBe(200)
    expect(await list(server, { "x-user": "other" })).toBe(403)
    expect(await list(server, {})).toBe(401)
    expect(received.map(isHostRequest)).toEqual([true, true, true])
    await server.close()
  })

  it("is replaced by the result of the option `context`", async () => {
    const server = await serve({ context: () => replacement })
    received = []
    expect(await list(server, {})).toBe(200)
    expect(received).toEqual([replacement])
    await server.close()
  })

  it.each([
    ["context", { context: "session" }],
    ["contxt", { contxt: () => replacement }],
    ["options", null],
    ["options", "session"]
  ])("rejects an invalid option when the binding is created: %s", async (option, options) => {
    const error = await (async () => serve(options as never))().catch((error: unknown) => error)
    expect(error).toMatchObject({ _tag: "ConfigurationError", option })
  })
})

describe("the web handler", () => {
  const list = (context?: unknown) =>
    gate.handler(new Request("http://localhost/v1/accounts/acme/key-buckets/production/consumers"), context)

  it("passes its second argument to authenticate", async () => {
    received = []
    const context = { session: { account: "acme" } }
    expect((await list(context)).status).toBe(200)
    expect((await list({})).status).toBe(401)
    expect(received[0]).toBe(context)
  })
})

it("passes an error of `context` to the error handler of the framework", async () => {
  const context = () => {
    throw new Error("no session")
  }
  const app = makeFastify()
  app.register(fastify.tollgate(gate, { context }), { prefix: "/api/dev" })
  const response = await app.inject("/api/dev/v1/metering")
  expect([response.statusCode, response.json().message]).toEqual([500, "no session"])
  await app.close()

  const expressApp = makeExpress()
  expressApp.use(express.tollgate(gate, { context }))
  expressApp.use(((error, _req, res, _next) => void res.status(500).send(error.message)) as ErrorRequestHandler)
  const server = await listen(expressApp)
  expect(await (await fetch(`${server.url}/v1/metering`)).text()).toBe("no session")
  await server.close()
})
