/**
 * The same protected route in every framework. Node's frameworks are called over HTTP.
 */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { LocalKeyBucketHandle } from "@tollgate/core"
import * as express from "@tollgate/express"
import * as fastify from "@tollgate/fastify"
import * as fetchBinding from "@tollgate/fetch"
import * as koa from "@tollgate/koa"
import * as node from "@tollgate/node"
import makeExpress from "express"
import makeFastify from "fastify"
import Koa from "koa"

type Options = fetchBinding.RequireApiKeyOptions

export interface ProtectedRoute {
  readonly call: (query: string, headers: Readonly<Record<string, string>>) => Promise<Response>
  readonly close: () => Promise<unknown>
}

interface Framework {
  readonly name: string
  /** Serves the consumer of each request as JSON, and calls `onHandled` for each request that reaches the route. */
  readonly serve: (
    keyBucket: LocalKeyBucketHandle,
    options: Options | undefined,
    onHandled: () => void
  ) => Promise<ProtectedRoute>
  readonly requireApiKey: (keyBucket: LocalKeyBucketHandle, options?: Options) => unknown
}

export const listen = async (listener: RequestListener) => {
  const server = createServer(listener).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections())
  }
}

const serveListener = async (listener: RequestListener): Promise<ProtectedRoute> => {
  const { url, close } = await listen(listener)
  return { call: (query, headers) => fetch(`${url}/hello${query}`, { headers }), close }
}

/** Responds with the status of an error, like the frameworks for Node. */
const toErrorResponse = (error: { readonly status?: number }) => new Response(null, { status: error.status ?? 500 })

const serveFetch = (handle: (request: Request) => Promise<Response>): ProtectedRoute => ({
  call: (query, headers) => handle(new Request(`http://localhost/hello${query}`, { headers })).catch(toErrorResponse),
  close: async () => undefined
})

const makeFastifyFramework = (hook: "onRequest" | "preHandler"): Framework => ({
  name: `Fastify, as ${hook}`,
  requireApiKey: fastify.requireApiKey,
  serve: async (keyBucket, options, onHandled) => {
    const app = makeFastify()
    app.get("/hello", { [hook]: fastify.requireApiKey(keyBucket, options) }, async (request) => {
      onHandled()
      return { consumer: request.consumer }
    })
    const url = await app.listen({ port: 0, host: "127.0.0.1" })
    return { call: (query, headers) => fetch(`${url}/hello${query}`, { headers }), close: () => app.close() }
  }
})

export const frameworks: ReadonlyArray<Framework> = [
  {
    name: "node:http",
    requireApiKey: node.requireApiKey,
    serve: (keyBucket, options, onHandled) => {
      const protect = node.requireApiKey(keyBucket, options)
      return serveListener((req, res) =>
        protect(req, res, (error) => {
          if (error !== undefined) {
            const { status = 500 } = error as { readonly status?: number }
            return void res.writeHead(status).end()
          }
          onHandled()
          res.setHeader("content-type", "application/json").end(JSON.stringify({ consumer: req.consumer }))
        })
      )
    }
  },
  {
    name: "Express",
    requireApiKey: express.requireApiKey,
    serve: (keyBucket, options, onHandled) => {
      const app = makeExpress().set("env", "test")
      app.get("/hello", express.requireApiKey(keyBucket, options), (req, res) => {
        onHandled()
        res.json({ consumer: req.consumer })
      })
      return serveListener(app)
    }
  },
  {
    name: "Koa",
    requireApiKey: koa.requireApiKey,
    serve: (keyBucket, options, onHandled) => {
      const app = new Koa()
      app.silent = true
      app.use(koa.requireApiKey(keyBucket, options))
      app.use((ctx) => {
        onHandled()
        ctx.body = { consumer: ctx.state["consumer"] }
      })
      return serveListener(app.callback())
    }
  },
  makeFastifyFramework("onRequest"),
  makeFastifyFramework("preHandler"),
  {
    name: "Fetch, as a check",
    requireApiKey: fetchBinding.requireApiKey,
    serve: async (keyBucket, options, onHandled) => {
      const protect = fetchBinding.requireApiKey(keyBucket, options)
      return serveFetch(async (request) => {
        const result = await protect(request)
        if (!result.allowed) return result.response
        onHandled()
        return Response.json({ consumer: result.consumer }, { headers: result.headers })
      })
    }
  },
  {
    name: "Fetch, as a wrapper",
    requireApiKey: (keyBucket, options = {}) => fetchBinding.withApiKey(keyBucket, options, () => new Response()),
    serve: async (keyBucket, options = {}, onHandled) =>
      serveFetch(
        fetchBinding.withApiKey(keyBucket, options, (_request, { consumer }) => {
          onHandled()
          return Response.json({ consumer })
        })
      )
  }
]
