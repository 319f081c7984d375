/**
 * The same protected routes in every framework, over HTTP/1.1 and HTTP/2. The query parameter `do` says how a route
 * responds, each time in the way of the framework.
 */
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { createServer as createHttp2Server, type Http2Server } from "node:http2"
import { pipeline, Readable } from "node:stream"
import type { LocalKeyBucketHandle } from "@tollgate/core"
import * as express from "@tollgate/express"
import * as fastify from "@tollgate/fastify"
import * as fetchBinding from "@tollgate/fetch"
import * as koa from "@tollgate/koa"
import { toNodeHandler } from "@tollgate/node"
import makeExpress from "express"
import makeFastify, { type FastifyInstance } from "fastify"
import Koa from "koa"

export type Behaviour = "ok" | "missing" | "redirect" | "unchanged" | "throw" | "stream" | "never" | "respond-twice"

/** What the test does while a route runs. */
export interface RouteHooks {
  readonly onHandled: (consumer: express.RequestConsumer | undefined) => void
  /** The body of the behaviour `stream`. */
  readonly openBody: () => Readable
}

type Options = fetchBinding.RequireApiKeyOptions

export interface ChargingFramework {
  readonly name: string
  readonly isHttp2: boolean
  readonly listen: (
    keyBucket: LocalKeyBucketHandle,
    options: Options,
    hooks: RouteHooks
  ) => Promise<Server | Http2Server>
}

const getBehaviour = (url: string): Behaviour => new URL(url, "http://localhost").searchParams.get("do") as Behaviour

const statuses = { ok: 200, missing: 404, redirect: 302, unchanged: 304 } as const
const getBody = (behaviour: Behaviour): string | undefined => (behaviour === "unchanged" ? undefined : behaviour)

const listenOn = async <S extends Server | Http2Server>(server: S): Promise<S> => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return server
}

const never = new Promise<never>(() => undefined)

const expressFramework: ChargingFramework = {
  name: "Express",
  isHttp2: false,
  listen: (keyBucket, options, { onHandled, openBody }) => {
    const app = makeExpress().set("env", "test")
    app.get("/", express.requireApiKey(keyBucket, options), (req, res) => {
      onHandled(req.consumer)
      const behaviour = getBehaviour(req.url)
      if (behaviour === "throw") throw new Error("The handler fails")
      if (behaviour === "never") return
      if (behaviour === "stream") return void pipeline(openBody(), res, () => undefined)
      if (behaviour !== "respond-twice") return void res.status(statuses[behaviour]).send(getBody(behaviour))
      res.send("first")
      res.status(500)
    })
    return listenOn(createServer(app))
  }
}

const makeKoaFramework = (isHttp2: boolean): ChargingFramework => ({
  name: isHttp2 ? "Koa over HTTP/2" : "Koa",
  isHttp2,
  listen: (keyBucket, options, { onHandled, openBody }) => {
    const app = new Koa()
    app.silent = true
    app.use(koa.requireApiKey(keyBucket, options))
    app.use(async (ctx) => {
      onHandled(ctx.state["consumer"])
      const behaviour = getBehaviour(ctx.url)
      if (behaviour === "throw") throw new Error("The handler fails")
      if (behaviour === "never") return await never
      if (behaviour === "stream") {
        ctx.body = openBody()
      } else if (behaviour === "respond-twice") {
        ctx.respond = false
        ctx.res.statusCode = 200
        ctx.res.end("first")
        ctx.res.statusCode = 500
      } else {
        ctx.body = getBody(behaviour)
        ctx.status = statuses[behaviour]
      }
    })
    return listenOn(isHttp2 ? createHttp2Server(app.callback()) : createServer(app.callback()))
  }
})

const makeFastifyFramework = (isHttp2: boolean): ChargingFramework => ({
  name: isHttp2 ? "Fastify over HTTP/2" : "Fastify",
  isHttp2,
  listen: async (keyBucket, options, { onHandled, openBody }) => {
    const app = (isHttp2 ? makeFastify({ http2: true }) : makeFastify()) as FastifyInstance
    app.get("/", { onRequest: fastify.requireApiKey(keyBucket, options) }, (request, reply) => {
      onHandled(request.consumer)
      const behaviour = getBehaviour(request.url)
      if (behaviour === "throw") throw new Error("The handler fails")
      if (behaviour === "never") return
      if (behaviour === "stream") return void reply.send(openBody())
      if (behaviour !== "respond-twice") return void reply.code(statuses[behaviour]).send(getBody(behaviour))
      reply.send("first")
      reply.code(500)
    })
    await app.listen({ port: 0, host: "127.0.0.1" })
    return app.server
  }
})

const respond = async (
  request: Request,
  consumer: express.RequestConsumer | undefined,
  { onHandled, openBody }: RouteHooks
): Promise<Response> => {
  onHandled(consumer)
  const behaviour = getBehaviour(request.url)
  if (behaviour === "throw") throw new Error("The handler fails")
  if (behaviour === "never") return await never
  if (behaviour === "stream") return new Response(Readable.toWeb(openBody()) as ReadableStream<Uint8Array>)
  if (behaviour === "respond-twice") return new Response("first")
  return new Response(getBody(behaviour) ?? null, { status: statuses[behaviour] })
}

const makeFetchFramework = (
  name: string,
  makeHandler: (
    keyBucket: LocalKeyBucketHandle,
    options: Options,
    hooks: RouteHooks
  ) => (request: Request) => Promise<Response>
): ChargingFramework => ({
  name,
  isHttp2: false,
  listen: (keyBucket, options, hooks) => {
    const handler = makeHandler(keyBucket, options, hooks)
    return listenOn(createServer(toNodeHandler({ handler, matches: () => true })))
  }
})

export const chargingFrameworks: ReadonlyArray<ChargingFramework> = [
  expressFramework,
  makeKoaFramework(false),
  makeKoaFramework(true),
  makeFastifyFramework(false),
  makeFastifyFramework(true),
  makeFetchFramework("Fetch, as a wrapper", (keyBucket, options, hooks) =>
    fetchBinding.withApiKey(keyBucket, options, (request: Request, { consumer }) => respond(request, consumer, hooks))
  ),
  makeFetchFramework("Fetch, as a check", (keyBucket, options, hooks) => {
    const protect = fetchBinding.requireApiKey(keyBucket, options)
    return async (request) => {
      const result = await protect(request)
      if (!result.allowed) return result.response
      const failed = () => new Response(null, { status: 500 })
      const response = await respond(request, result.consumer, hooks).catch(failed)
      return result.finish?.(response) ?? response
    }
  })
]
