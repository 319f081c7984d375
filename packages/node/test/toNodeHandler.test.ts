import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer, request as httpRequest, type RequestListener, type Server } from "node:http"
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2"
import { connect } from "node:net"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { type DeploymentsModule, deployments, memorySourceStore, memoryTarget } from "@tollgate/deployments"
import { tollgate } from "@tollgate/express"
import { tollgate as koaTollgate } from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { eventually } from "@tollgate/testing"
import express, { type ErrorRequestHandler } from "express"
import Fastify from "fastify"
import { Hono } from "hono"
import Koa from "koa"
import bodyParser from "koa-bodyparser"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const token = "a-management-token-for-tests"
let gate: Tollgate<DeploymentsModule>
const servers: Array<Server> = []

const serve = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, "127.0.0.1")
  servers.push(server)
  await once(server, "listening")
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
}

beforeAll(async () => {
  gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "test-secret-with-at-least-32-characters",
    tokens: [{ token, account: "acme" }],
    publicUrl: "http://gate",
    modules: [deployments({ sources: memorySourceStore(), target: memoryTarget(), sourceLimit: 3_000_000 })]
  })
})
afterAll(async () => {
  for (const server of servers) server.close()
  for (const server of servers) server.closeAllConnections()
  await gate.close()
})

const makeExpressApp = (mount: string, parser?: express.RequestHandler) => {
  const app = express()
  if (parser !== undefined) app.use(parser)
  app.get(`${mount}/before`, (_req, res) => void res.send("app route"))
  app.use(mount, tollgate(gate))
  app.get(`${mount}/after`, (_req, res) => void res.send("app route after Tollgate"))
  app.use((_req, res) => void res.status(404).send("app 404"))
  return app
}

const makeKoaListener = (prefix: string, parser?: Koa.Middleware) => {
  const app = new Koa()
  if (parser !== undefined) app.use(parser)
  app.use(koaTollgate(gate, { prefix }))
  app.use((ctx) => {
    ctx.body = "app route"
  })
  return app.callback()
}

type Fetch = (url: string, init?: RequestInit) => Promise<Response>
/** An application with Tollgate mounted, called over HTTP or directly as a function. */
type Host = () => Promise<{ readonly origin: string; readonly fetch: Fetch }>

const nodeHost =
  (listener: () => RequestListener): Host =>
  async () => ({ origin: await serve(listener()), fetch })

/** The web handler, called without HTTP. */
const webHost =
  (prefix: string): Host =>
  async () => ({
    origin: "http://gate",
    fetch: (url, init) =>
      gate.handler(new Request(new URL(new URL(url).pathname.slice(prefix.length) + new URL(url).search, url), init))
  })

const nodeMounts: ReadonlyArray<readonly [string, string, () => RequestListener]> = [
  ["node:http", "", () => toNodeHandler(gate)],
  ["node:http at a prefix", "/api/dev", () => toNodeHandler(gate, { prefix: "/api/dev" })],
  ["Express", "", () => makeExpressApp("/")],
  ["Express at a path", "/api/dev", () => makeExpressApp("/api/dev")],
  ["Express with its JSON parser", "/api/dev", () => makeExpressApp("/api/dev", express.json())],
  ["Koa", "", () => makeKoaListener("")],
  ["Koa at a path", "/api/dev", () => makeKoaListener("/api/dev")],
  ["Koa with a body parser", "/api/dev", () => makeKoaListener("/api/dev", bodyParser())],
  [
    "Express with its raw parser",
    "/api/dev",
    () => makeExpressApp("/api/dev", express.raw({ type: "*/*", limit: "4mb" }))
  ]
]

const mounts: ReadonlyArray<readonly [string, string, Host]> = [
  ...nodeMounts.map(([name, prefix, listener]) => [name, prefix, nodeHost(listener)] as const),
  ["the web handler", "", webHost("")],
  ["the web handler at a path", "/api/dev", webHost("/api/dev")]
]

describe.each(mounts)("mounted in %s", (name, prefix, host) => {
  let url: string
  let fetch: Fetch
  beforeAll(async () => {
    const mounted = await host()
    url = `${mounted.origin}${prefix}`
    fetch = mounted.fetch
  })
  const getBucketUrl = () =>
    `${url}/v1/accounts/acme/key-buckets/${encodeURIComponent(name.replaceAll(/[^a-z]/gi, "-"))}`
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })

  // biome-ignore lint/suspicious/noExplicitAny: tests read response bodies without schemas
  const json = async (response: Response): Promise<any> => response.json()

  it("serves the HTTP API, from create to delete", async () => {
    const created = await call("POST", `${getBucketUrl()}/consumers?with-api-key=true`, {
      name: "alice",
      tags: { team: "blue" }
    })
    expect(created.status).toBe(200)
    expect(created.headers.get("etag")).toBe('"1"')
    const { apiKeys } = await json(created)
    const verified = await call("POST", `${getBucketUrl()}/%24verify`, { key: apiKeys[0].key })
    expect((await json(verified)).valid).toBe(true)
    const bulk = await call("POST", `${getBucketUrl()}/consumers/alice/keys/$bulk`, [{}, {}])
    expect((await json(bulk)).total).toBe(2)
    expect((await call("POST", `${getBucketUrl()}/consumers/alice/keys`)).status).toBe(200)
    const listed = await json(await call("GET", `${getBucketUrl()}/consumers/?tag.team=blue&include-api-keys=true`))
    expect(listed.data[0].apiKeys.length).toBe(4)
    expect((await call("GET", `${getBucketUrl()}/consumers`, undefined, { authorization: "none" })).status).toBe(401)
    const rolled = await call("POST", `${getBucketUrl()}/consumers/alice/roll-key`, {
      expiresOn: "2041-01-01T00:00:00Z"
    })
    expect(rolled.status).toBe(204)
    // The web handler does not know its mount path: its Location header is based on publicUrl.
    const location = new URL(rolled.headers.get("location") ?? "", url)
    const keyUrl = name.startsWith("the web handler")
      ? location.href.replace("http://gate/v1", `${url}/v1`)
      : location.href
    expect((await call("GET", keyUrl)).status).toBe(200)
    const removed = await call("DELETE", `${getBucketUrl()}/consumers/alice`)
    expect([removed.status, await removed.text()]).toEqual([204, ""])
  })

  it("responds to HEAD without a body", async () => {
    const response = await fetch(`${url}/healthz`, { method: "HEAD" })
    expect([response.status, await response.text()]).toEqual([200, ""])
  })

  it("accepts an upload, and serves the deployment", async () => {
    const project = name.replaceAll(/[^a-z]/gi, "-")
    const branch = { accountName: "acme", projectName: project, branchName: "main" }
    const { uploadUrl } = await json(await call("POST", `${url}/v1/deployments/sources`, branch))
    // Every byte value, in more than one chunk.
    const archive = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 256))
    const mountedUploadUrl = uploadUrl.replace("http://gate", url)
    const put = (body: Uint8Array<ArrayBuffer>) =>
      fetch(mountedUploadUrl, { method: "PUT", body, headers: { "content-type": "application/gzip" } })
    expect((await put(new Uint8Array(3_000_001))).status).toBe(413)
    const { id, digest } = await json(await put(archive))
    expect(digest).toBe(createHash("sha256").update(archive).digest("hex"))
    const path = `${url}/v1/accounts/acme/projects/${project}/deployment-status/${id}`
    const status = await eventually(async () => {
      const status = await json(await call("GET", path))
      expect(status.status).toBe("SUCCESS")
      return status
    })
    const served = await fetch(status.url.replace("http://gate", url))
    expect(served.headers.get("content-security-policy")).toBe("sandbox")
    expect(Buffer.from(await served.arrayBuffer()).equals(archive)).toBe(true)
    const [deployment] = (await json(await call("GET", `${url}/v1/accounts/acme/projects/${project}/deployments`))).data
    expect((await call("DELETE", `${url}/v1/deployments/${deployment.name}`)).status).toBe(204)
  })

  it("rejects malformed and oversized bodies", async () => {
    const malformed = await call("POST", `${getBucketUrl()}/consumers`, '{"name":')
    expect(malformed.status).toBe(400)
    const large = await call("POST", `${getBucketUrl()}/consumers`, { name: "x", description: "x".repeat(2_000_000) })
    expect(large.status).toBe(413)
  })
})

describe("in an application", () => {
  it("passes on requests for the application's own routes, before and after Tollgate, and its 404", async () => {
    const url = await serve(makeExpressApp("/api/dev"))
    const get = async (path: string) => {
      const response = await fetch(`${url}${path}`)
      return [response.status, await response.text()]
    }
    expect(await get("/api/dev/before")).toEqual([200, "app route"])
    expect(await get("/api/dev/after")).toEqual([200, "app route after Tollgate"])
    expect(await get("/api/dev/unknown")).toEqual([404, "app 404"])
    expect(await get("/v1/metering")).toEqual([404, "app 404"])
    expect((await get("/api/dev/v1/metering"))[0]).toBe(401)
  })

  it("responds to TRACE with 405 in Express", async () => {
    const url = await serve(makeExpressApp("/"))
    const { status, allow } = await new Promise<{ status: number | undefined; allow: string | undefined }>(
      (resolve, reject) => {
        const request = httpRequest(`${url}/v1/deployments/x`, { method: "TRACE" }, (res) => {
          res.resume()
          resolve({ status: res.statusCode, allow: res.headers.allow })
        })
        request.on("error", reject).end()
      }
    )
    expect({ status, allow }).toEqual({ status: 405, allow: "GET, HEAD, DELETE" })
  })

  it("rejects an upload that a body parser has consumed, and accepts it without the parser", async () => {
    const archive = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 256))
    const { deployments } = gate.account("acme").project("parsed")
    for (const [parser, type] of [
      [express.urlencoded(), "application/x-www-form-urlencoded"],
      [express.text(), "text/plain"]
    ] as const) {
      const url = await serve(makeExpressApp("/", parser))
      const { uploadUrl } = await deployments.createSource({ branchName: "main" })
      const mountedUploadUrl = uploadUrl.replace("http://gate", url)
      const put = (type: string) =>
        fetch(mountedUploadUrl, { method: "PUT", body: archive, headers: { "content-type": type } })
      const rejected = await put(type)
      expect(rejected.status).toBe(400)
      expect(await rejected.text()).toContain("mount Tollgate before the parser")
      expect((await put("application/gzip")).status).toBe(200)
    }
  })

  it("passes unexpected errors to the application's error handler", async () => {
    const failingGate = { ...gate, dispatch: () => Promise.reject(new Error("gate failed")) }
    for (const [source, path] of [
      [gate, "/api/dev/broken"],
      [failingGate, "/api/dev/v1/metering"]
    ] as const) {
      const app = express()
      app.use("/api/dev", toNodeHandler(source))
      app.get("/api/dev/broken", () => {
        throw new Error("route failed")
      })
      app.use(
        ((error, _req, res, _next) => void res.status(500).send(`handled: ${error.message}`)) as ErrorRequestHandler
      )
      const response = await fetch(`${await serve(app)}${path}`)
      const message = source === gate ? "route failed" : "gate failed"
      expect([response.status, await response.text()]).toEqual([500, `handled: ${message}`])
    }
  })

  it("accepts JSON that a parser has read as text", async () => {
    const url = await serve(makeExpressApp("/api/dev", express.text({ type: "*/*" })))
    const created = await fetch(`${url}/api/dev/v1/accounts/acme/key-buckets/text/consumers`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "alice" })
    })
    expect(created.status).toBe(200)
  })

  it("works in Fastify, with toNodeHandler", async () => {
    const handle = toNodeHandler(gate, { prefix: "/api/dev" })
    const app = Fastify()
    app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser("*", (_request, _payload, done) => done(null))
      scope.all("/api/dev/*", async (request, reply) => {
        reply.hijack()
        await handle(request.raw, reply.raw)
      })
    })
    app.post("/own", async ({ body }) => body)
    // Fastify's own parsers consume the body and do not put it on the Node request.
    app.all("/parsed/*", async (request, reply) => {
      reply.hijack()
      await toNodeHandler(gate, { prefix: "/parsed" })(request.raw, reply.raw)
    })
    const url = await app.listen({ port: 0, host: "127.0.0.1" })
    const post = (path: string, body: object) =>
      fetch(`${url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body)
      })
    const consumers = "/v1/accounts/acme/key-buckets/fastify/consumers"
    expect((await post(`/api/dev${consumers}`, { name: "alice" })).status).toBe(200)
    const key = { expiresOn: "2041-01-01T00:00:00.000Z" }
    expect(await (await post(`/api/dev${consumers}/alice/keys`, key)).json()).toMatchObject(key)
    expect(await (await post("/own", { a: 1 })).json()).toEqual({ a: 1 })
    const consumed = await post(`/parsed${consumers}/alice/keys`, key)
    expect(consumed.status).toBe(400)
    expect(await consumed.text()).toContain("mount Tollgate before the parser")
    expect((await gate.account("acme").keyBucket("fastify").keys.list("alice")).total).toBe(1)
    await app.close()
  })

  it("rejects a body that a parser has read and cannot restore exactly", async () => {
    for (const [parser, type, body, message] of [
      [express.urlencoded(), "application/x-www-form-urlencoded", '{"name":"x"}', "mount Tollgate before the parser"],
      [express.json(), "application/json", '{"name":"x","metadata":{"a":1e999}}', "a number that is too large"]
    ] as const) {
      const url = await serve(makeExpressApp("/", parser))
      const response = await fetch(`${url}/v1/accounts/acme/key-buckets/misread/consumers`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": type },
        body
      })
      expect(response.status).toBe(400)
      expect(await response.text()).toContain(message)
    }
    expect((await gate.account("acme").keyBucket("misread").consumers.list()).total).toBe(0)
  })

  it("works in Hono, with the web handler", async () => {
    const app = new Hono()
    app.get("/own", (context) => context.text("app route"))
    app.mount("/api/dev", gate.handler)
    const created = await app.request("/api/dev/v1/accounts/acme/key-buckets/hono/consumers", {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: "alice" })
    })
    expect(created.status).toBe(200)
    expect(await (await app.request("/own")).text()).toBe("app route")
  })

  it("works in Next.js route handlers, with the web handler", async () => {
    // app/api/dev/[...path]/route.ts exports this function for every method. Its request has the full URL.
    const handle = (request: Request) => gate.handler(new Request(request.url.replace("/api/dev", ""), request))
    const created = await handle(
      new Request("http://localhost:3000/api/dev/v1/accounts/acme/key-buckets/next/consumers", {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ name: "alice" })
      })
    )
    expect(created.status).toBe(200)
  })

  it("works over HTTP/2", async () => {
    const server = createHttp2Server(toNodeHandler(gate) as never).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const session = connectHttp2(
      `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    )
    const send = (headers: Record<string, string>, body?: Uint8Array) =>
      new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
        const stream = session.request({ authorization: `Bearer ${token}`, ...headers })
        let responseHeaders: Record<string, unknown> = {}
        let text = ""
        stream.on("response", (headers) => {
          responseHeaders = headers
        })
        stream.on("data", (chunk) => {
          text += chunk
        })
        stream.on("end", () => resolve({ status: Number(responseHeaders[":status"]), headers: responseHeaders, text }))
        stream.on("error", reject)
        stream.end(body)
      })
    const post = (path: string, body: unknown) =>
      send({ ":method": "POST", ":path": path }, Buffer.from(JSON.stringify(body)))
    const created = await post("/v1/accounts/acme/key-buckets/http2/consumers?with-api-key=true", { name: "alice" })
    expect(created.status).toBe(200)
    expect(created.headers["connection"]).toBeUndefined()
    expect(JSON.parse(created.text).apiKeys[0].key).toMatch(/^tg_/)
    expect((await send({ ":path": "/v1/accounts/acme/key-buckets/http2/consumers" })).text).toContain("alice")
    expect((await send({ ":path": "/healthz", ":method": "HEAD" })).text).toBe("")
    expect(
      (await post("/v1/accounts/acme/key-buckets/http2/consumers", { name: "x", description: "x".repeat(2e6) })).status
    ).toBe(413)
    const branch = { accountName: "acme", projectName: "http2", branchName: "main" }
    const { pathname, search } = new URL(JSON.parse((await post("/v1/deployments/sources", branch)).text).uploadUrl)
    const archive = Buffer.alloc(1_000_000, "archive")
    const put = await send({ ":method": "PUT", ":path": `${pathname}${search}` }, archive)
    expect(JSON.parse(put.text)).toMatchObject({ bytes: archive.length })
    expect((await send({ ":path": "/healthz" })).status).toBe(200)
    let host: string | null = null
    const recordHost = toNodeHandler({
      matches: () => true,
      handler: async (request) => {
        host = request.headers.get("host")
        return new Response(null)
      }
    })
    server.removeAllListeners("request").on("request", recordHost as never)
    await send({ ":path": "/", ":authority": "sites.example" })
    expect(host).toBe("sites.example")
    // The response is sent before the request body is read: the stream is closed although the client still sends.
    server
      .removeAllListeners("request")
      .on("request", toNodeHandler({ matches: () => true, handler: async () => new Response("early") }) as never)
    const early = session.request({ ":method": "POST", ":path": "/" })
    early.on("error", () => undefined).resume()
    early.write(Buffer.alloc(2_000_000))
    await once(early, "close")
    session.close()
    server.close()
  })

  it("lets a client that is still sending read the response", async () => {
    const url = await serve(toNodeHandler(gate))
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) })
    const large = await fetch(`${url}/v1/metering`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: endless,
      duplex: "half"
    } as RequestInit)
    expect(large.status).toBe(413)
    expect(await large.json()).toMatchObject({ status: 413 })
  })

  it("passes on requests for Koa's own routes", async () => {
    const url = await serve(makeKoaListener("/api/dev"))
    for (const path of ["/api/dev/other", "/v1/metering", "/"]) {
      expect(await (await fetch(`${url}${path}`)).text()).toBe("app route")
    }
    expect((await fetch(`${url}/api/dev/v1/metering`)).status).toBe(401)
  })

  it("responds to requests that a web Request cannot represent, and keeps running", async () => {
    const url = await serve(toNodeHandler(gate))
    const { port } = new URL(url)
    for (const line of [
      "TRACE / HTTP/1.1",
      "GET http://evil/healthz HTTP/1.1",
      "OPTIONS * HTTP/1.1",
      "GET //x HTTP/1.1"
    ]) {
      const socket = connect(Number(port), "127.0.0.1")
      socket.write(`${line}\r\nHost: [bad host\r\nConnection: close\r\n\r\n`)
      const [data] = await once(socket, "data")
      expect(String(data)).toMatch(/^HTTP\/1\.1 \d{3} /)
      expect(String(data)).not.toMatch(/ 500 |Error:|node:internal|\.ts:/)
      socket.destroy()
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  const serveBody = (body: () => ReadableStream<Uint8Array> | string, headers: Record<string, string> = {}) =>
    serve(toNodeHandler({ matches: () => true, handler: async () => new Response(body(), { headers }) }))
  const makeFailingBody = (chunks: number) => () => {
    let remaining = chunks
    return new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (remaining-- > 0) controller.enqueue(new Uint8Array(100_000))
        else controller.error(new Error("body failed"))
      }
    })
  }

  it("never sends a truncated response as if it were complete", async () => {
    for (const headers of [{}, { "content-length": "10000000" }]) {
      const url = await serveBody(makeFailingBody(20), headers as Record<string, string>)
      await expect(fetch(url).then((response) => response.arrayBuffer())).rejects.toThrow()
    }
    const url = await serveBody(makeFailingBody(0), { "content-length": "100" })
    const response = await fetch(url)
    expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([500, "0", ""])
  })

  it("discards the rest of the request body after an early response", async () => {
    const url = await serveBody(() => "early")
    const { port } = new URL(url)
    const socket = connect(Number(port), "127.0.0.1")
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 20000000\r\n\r\n")
    // Many clients send the whole body before they read the response.
    await new Promise((resolve, reject) => {
      socket.once("error", reject)
      socket.write(Buffer.alloc(20_000_000), resolve)
    })
    const [data] = await once(socket, "data")
    expect(String(data)).toMatch(/^HTTP\/1\.1 200 /)
    socket.destroy()
  })

  it("does not take over chunks that other listeners received, and accepts string chunks", async () => {
    const received: Array<Buffer> = []
    let text = ""
    const handler = toNodeHandler({
      matches: () => true,
      handler: async (request) => {
        text = await request.text()
        return new Response(null)
      }
    })
    const shared = await serve((req, res) => {
      req.on("data", (chunk) => received.push(chunk))
      void handler(req, res)
    })
    await fetch(shared, { method: "POST", body: "x".repeat(100_000) })
    expect(Buffer.concat(received).toString()).toBe("x".repeat(100_000))
    expect(text.length).toBe(100_000)
    const decoded = await serve((req, res) => {
      req.setEncoding("utf8")
      void handler(req, res)
    })
    await fetch(decoded, { method: "POST", body: "äöü" })
    expect(text).toBe("äöü")
  })

  it("reads a request that the application has paused", async () => {
    const url = await serve((req, res) => {
      req.pause()
      setImmediate(() => void toNodeHandler(gate)(req, res))
    })
    const created = await fetch(`${url}/v1/accounts/acme/key-buckets/paused/consumers`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: "alice" })
    })
    expect(created.status).toBe(200)
  })

  it("joins repeated headers, and cookies with a semicolon", async () => {
    let joined: ReadonlyArray<string | null> = []
    const url = await serve(
      toNodeHandler({
        matches: () => true,
        handler: async ({ headers }) => {
          joined = [headers.get("cookie"), headers.get("x-many")]
          return new Response(null)
        }
      })
    )
    const socket = connect(Number(new URL(url).port), "127.0.0.1")
    socket.write("GET / HTTP/1.1\r\nhost: x\r\ncookie: a=1\r\ncookie: b=2\r\nx-many: 1\r\nx-many: 2\r\n\r\n")
    await once(socket, "data")
    socket.destroy()
    expect(joined).toEqual(["a=1; b=2", "1, 2"])
  })

  it("does not normalize dots in a path", async () => {
    const { port } = new URL(await serve(toNodeHandler(gate)))
    for (const path of ["/v1/../healthz", "/./healthz", "/healthz/.", "/v1/%2e%2e/healthz", "/\\healthz"]) {
      const socket = connect(Number(port), "127.0.0.1")
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
      const [data] = await once(socket, "data")
      expect(String(data), path).toMatch(/^HTTP\/1\.1 404 /)
      socket.destroy()
    }
  })

  it("does not call the handler if the client disconnected before the handler was called", async () => {
    let calls = 0
    const handler = toNodeHandler({
      matches: () => true,
      handler: async () => {
        calls++
        return new Response(null)
      }
    })
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    const url = await serve((req, res) => {
      req.once("close", () => void handler(req, res).then(resolve))
    })
    const client = httpRequest(url, { method: "POST" }).on("error", () => undefined)
    client.write("partial")
    client.flushHeaders()
    setImmediate(() => setImmediate(() => client.destroy()))
    await closed
    expect(calls).toBe(0)
  })

  it("aborts the request's signal when the client disconnects", async () => {
    let aborted: Promise<unknown> | undefined
    const started = Promise.withResolvers<void>()
    const url = await serve(
      toNodeHandler({
        matches: () => true,
        handler: (request) => {
          aborted = once(request.signal, "abort")
          started.resolve()
          return new Promise(() => undefined)
        }
      })
    )
    const client = httpRequest(url).on("error", () => undefined)
    client.end()
    await started.promise
    client.destroy()
    await aborted
  })
})
