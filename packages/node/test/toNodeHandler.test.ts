import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer, request as httpRequest, type RequestListener, type Server } from "node:http"
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2"
import { connect } from "node:net"
import { createTollgate, memorySourceStore, memoryTarget, type Tollgate } from "@tollgate/core"
import { tollgate } from "@tollgate/express"
import { tollgate as koaTollgate } from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import express, { type ErrorRequestHandler } from "express"
import Fastify from "fastify"
import { Hono } from "hono"
import Koa from "koa"
import bodyParser from "koa-bodyparser"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"

const token = "a-management-token-for-tests"
let gate: Tollgate
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
    secret: "a secret of the tests, and of nobody else",
    tokens: [{ token, account: "acme" }],
    publicUrl: "http://gate",
    deployments: { sources: memorySourceStore(), target: memoryTarget(), sourceLimit: 3_000_000 }
  })
})
afterAll(async () => {
  for (const server of servers) server.close()
  for (const server of servers) server.closeAllConnections()
  await gate.close()
})

const withExpress = (mount: string, parser?: express.RequestHandler) => {
  const app = express()
  if (parser !== undefined) app.use(parser)
  app.get(`${mount}/host`, (_req, res) => void res.send("the host's own"))
  app.use(mount, tollgate(gate))
  app.get(`${mount}/later`, (_req, res) => void res.send("the host's own, behind"))
  app.use((_req, res) => void res.status(404).send("the host's own 404"))
  return app
}

const withKoa = (prefix: string, parser?: Koa.Middleware) => {
  const app = new Koa()
  if (parser !== undefined) app.use(parser)
  app.use(koaTollgate(gate, { prefix }))
  app.use((ctx) => {
    ctx.body = "the host's own"
  })
  return app.callback()
}

/** How a host is asked: over the wire, or by calling its function. */
type Ask = (url: string, init?: RequestInit) => Promise<Response>
type Host = () => Promise<{ readonly origin: string; readonly ask: Ask }>

const listening =
  (listener: () => RequestListener): Host =>
  async () => ({ origin: await serve(listener()), ask: fetch })

/** The web handler, as a host that speaks Fetch mounts it. */
const webHandler =
  (prefix: string): Host =>
  async () => ({
    origin: "http://gate",
    ask: (url, init) =>
      gate.handler(new Request(new URL(new URL(url).pathname.slice(prefix.length) + new URL(url).search, url), init))
  })

const nodeMounts: ReadonlyArray<readonly [string, string, () => RequestListener]> = [
  ["node:http", "", () => toNodeHandler(gate)],
  ["node:http below a prefix", "/api/dev", () => toNodeHandler(gate, { prefix: "/api/dev" })],
  ["Express", "", () => withExpress("/")],
  ["Express below a path", "/api/dev", () => withExpress("/api/dev")],
  ["Express with its JSON parser", "/api/dev", () => withExpress("/api/dev", express.json())],
  ["Koa", "", () => withKoa("")],
  ["Koa below a path", "/api/dev", () => withKoa("/api/dev")],
  ["Koa with a body parser", "/api/dev", () => withKoa("/api/dev", bodyParser())],
  ["Express with its raw parser", "/api/dev", () => withExpress("/api/dev", express.raw({ type: "*/*", limit: "4mb" }))]
]

const mounts: ReadonlyArray<readonly [string, string, Host]> = [
  ...nodeMounts.map(([name, prefix, listener]) => [name, prefix, listening(listener)] as const),
  ["the web handler", "", webHandler("")],
  ["the web handler below a path", "/api/dev", webHandler("/api/dev")]
]

describe.each(mounts)("mounted in %s", (name, prefix, host) => {
  let url: string
  let fetch: Ask
  beforeAll(async () => {
    const { origin, ask } = await host()
    url = `${origin}${prefix}`
    fetch = ask
  })
  const bucket = () => `${url}/v1/accounts/acme/key-buckets/${encodeURIComponent(name.replaceAll(/[^a-z]/gi, "-"))}`
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })

  // biome-ignore lint/suspicious/noExplicitAny: a test reads answers as they come
  const json = async (answer: Response): Promise<any> => answer.json()

  it("the interface works, from create to delete", async () => {
    const made = await call("POST", `${bucket()}/consumers?with-api-key=true`, {
      name: "alice",
      tags: { team: "blue" }
    })
    expect(made.status).toBe(200)
    expect(made.headers.get("etag")).toBe('"1"')
    const { apiKeys } = await json(made)
    const verified = await call("POST", `${bucket()}/%24verify`, { key: apiKeys[0].key })
    expect((await json(verified)).valid).toBe(true)
    const bulk = await call("POST", `${bucket()}/consumers/alice/keys/$bulk`, [{}, {}])
    expect((await json(bulk)).total).toBe(2)
    expect((await call("POST", `${bucket()}/consumers/alice/keys`)).status).toBe(200)
    const listed = await json(await call("GET", `${bucket()}/consumers/?tag.team=blue&include-api-keys=true`))
    expect(listed.data[0].apiKeys.length).toBe(4)
    expect((await call("GET", `${bucket()}/consumers`, undefined, { authorization: "none" })).status).toBe(401)
    const rolled = await call("POST", `${bucket()}/consumers/alice/roll-key`, { expiresOn: "2041-01-01T00:00:00Z" })
    expect(rolled.status).toBe(204)
    // Whoever calls the web handler below a path has to tell where it is, by publicUrl.
    const location = new URL(rolled.headers.get("location") ?? "", url)
    const found = name.startsWith("the web handler")
      ? location.href.replace("http://gate/v1", `${url}/v1`)
      : location.href
    expect((await call("GET", found)).status).toBe(200)
    const removed = await call("DELETE", `${bucket()}/consumers/alice`)
    expect([removed.status, await removed.text()]).toEqual([204, ""])
  })

  it("answers a HEAD without a body", async () => {
    const answer = await fetch(`${url}/healthz`, { method: "HEAD" })
    expect([answer.status, await answer.text()]).toEqual([200, ""])
  })

  it("takes an upload, and serves what was deployed", async () => {
    const project = name.replaceAll(/[^a-z]/gi, "-")
    const branch = { accountName: "acme", projectName: project, branchName: "main" }
    const { uploadUrl } = await json(await call("POST", `${url}/v1/deployments/sources`, branch))
    // Not only text: every byte there is, and more than one piece.
    const archive = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 256))
    const address = uploadUrl.replace("http://gate", url)
    const put = (body: Uint8Array<ArrayBuffer>) =>
      fetch(address, { method: "PUT", body, headers: { "content-type": "application/gzip" } })
    expect((await put(new Uint8Array(3_000_001))).status).toBe(413)
    const { id, digest } = await json(await put(archive))
    expect(digest).toBe(createHash("sha256").update(archive).digest("hex"))
    const path = `${url}/v1/accounts/acme/projects/${project}/deployment-status/${id}`
    const status = await vi.waitFor(async () => {
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

  it("does not take a wrong body for a right one", async () => {
    const wrong = await call("POST", `${bucket()}/consumers`, '{"name":')
    expect(wrong.status).toBe(400)
    const large = await call("POST", `${bucket()}/consumers`, { name: "x", description: "x".repeat(2_000_000) })
    expect(large.status).toBe(413)
  })
})

describe("in a host", () => {
  it("leaves the host's own routes, before and behind, and its own 404", async () => {
    const url = await serve(withExpress("/api/dev"))
    const text = async (path: string) => {
      const answer = await fetch(`${url}${path}`)
      return [answer.status, await answer.text()]
    }
    expect(await text("/api/dev/host")).toEqual([200, "the host's own"])
    expect(await text("/api/dev/later")).toEqual([200, "the host's own, behind"])
    expect(await text("/api/dev/nothing")).toEqual([404, "the host's own 404"])
    expect(await text("/v1/metering")).toEqual([404, "the host's own 404"])
    expect((await text("/api/dev/v1/metering"))[0]).toBe(401)
  })

  it("answers TRACE like any method that there is not, also in Express", async () => {
    const url = await serve(withExpress("/"))
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

  it("refuses an upload that the host has taken apart, and leaves its address good", async () => {
    const archive = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 256))
    const branch = { accountName: "acme", projectName: "parsed", branchName: "main" }
    for (const [parser, type] of [
      [express.urlencoded(), "application/x-www-form-urlencoded"],
      [express.text(), "text/plain"]
    ] as const) {
      const url = await serve(withExpress("/", parser))
      const { uploadUrl } = await gate.deployments.createSource(branch)
      const address = uploadUrl.replace("http://gate", url)
      const put = (type: string) => fetch(address, { method: "PUT", body: archive, headers: { "content-type": type } })
      const refused = await put(type)
      expect(refused.status).toBe(400)
      expect(await refused.text()).toContain("mount Tollgate before the parser")
      expect((await put("application/gzip")).status).toBe(200)
    }
  })

  it("leaves the host's own error handler to the host's errors, and brings it those that are nobody else's", async () => {
    const broken = { ...gate, dispatch: () => Promise.reject(new Error("of the gate")) }
    for (const [mounted, path] of [
      [gate, "/api/dev/broken"],
      [broken, "/api/dev/v1/metering"]
    ] as const) {
      const app = express()
      app.use("/api/dev", toNodeHandler(mounted))
      app.get("/api/dev/broken", () => {
        throw new Error("of the host")
      })
      app.use(
        ((error, _req, res, _next) => void res.status(500).send(`handled: ${error.message}`)) as ErrorRequestHandler
      )
      const answer = await fetch(`${await serve(app)}${path}`)
      const whose = mounted === gate ? "host" : "gate"
      expect([answer.status, await answer.text()]).toEqual([500, `handled: of the ${whose}`])
    }
  })

  it("takes JSON that the host has parsed as text", async () => {
    const url = await serve(withExpress("/api/dev", express.text({ type: "*/*" })))
    const made = await fetch(`${url}/api/dev/v1/accounts/acme/key-buckets/text/consumers`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "alice" })
    })
    expect(made.status).toBe(200)
  })

  it("works in Fastify, through the bridge", async () => {
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
    // Left to Fastify's own parsers, nothing of a body reaches the interface.
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
    const lost = await post(`/parsed${consumers}/alice/keys`, key)
    expect(lost.status).toBe(400)
    expect(await lost.text()).toContain("mount Tollgate before the parser")
    expect((await gate.keys.list("acme", "fastify", "alice")).total).toBe(1)
    await app.close()
  })

  it("refuses JSON that a parser has read as something else", async () => {
    for (const [parser, type, body, reason] of [
      [express.urlencoded(), "application/x-www-form-urlencoded", '{"name":"x"}', "mount Tollgate before the parser"],
      [express.json(), "application/json", '{"name":"x","metadata":{"a":1e999}}', "a number in it is too large"]
    ] as const) {
      const url = await serve(withExpress("/", parser))
      const answer = await fetch(`${url}/v1/accounts/acme/key-buckets/misread/consumers`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": type },
        body
      })
      expect(answer.status).toBe(400)
      expect(await answer.text()).toContain(reason)
    }
    expect((await gate.consumers.list("acme", "misread")).total).toBe(0)
  })

  it("works in Hono, through the web handler", async () => {
    const app = new Hono()
    app.get("/own", (context) => context.text("the host's own"))
    app.mount("/api/dev", gate.handler)
    const made = await app.request("/api/dev/v1/accounts/acme/key-buckets/hono/consumers", {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: "alice" })
    })
    expect(made.status).toBe(200)
    expect(await (await app.request("/own")).text()).toBe("the host's own")
  })

  it("works in Next's route handlers, through the web handler", async () => {
    // What app/api/dev/[...path]/route.ts exports for every method: a function of a request with the whole address.
    const handle = (request: Request) => gate.handler(new Request(request.url.replace("/api/dev", ""), request))
    const made = await handle(
      new Request("http://localhost:3000/api/dev/v1/accounts/acme/key-buckets/next/consumers", {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ name: "alice" })
      })
    )
    expect(made.status).toBe(200)
  })

  it("works over HTTP/2", async () => {
    const server = createHttp2Server(toNodeHandler(gate) as never).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const session = connectHttp2(
      `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    )
    const ask = (headers: Record<string, string>, body?: Uint8Array) =>
      new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
        const stream = session.request({ authorization: `Bearer ${token}`, ...headers })
        let answer: Record<string, unknown> = {}
        let text = ""
        stream.on("response", (headers) => {
          answer = headers
        })
        stream.on("data", (chunk) => {
          text += chunk
        })
        stream.on("end", () => resolve({ status: Number(answer[":status"]), headers: answer, text }))
        stream.on("error", reject)
        stream.end(body)
      })
    const post = (path: string, body: unknown) =>
      ask({ ":method": "POST", ":path": path }, Buffer.from(JSON.stringify(body)))
    const made = await post("/v1/accounts/acme/key-buckets/http2/consumers?with-api-key=true", { name: "alice" })
    expect(made.status).toBe(200)
    expect(made.headers["connection"]).toBeUndefined()
    expect(JSON.parse(made.text).apiKeys[0].key).toMatch(/^tg_/)
    expect((await ask({ ":path": "/v1/accounts/acme/key-buckets/http2/consumers" })).text).toContain("alice")
    expect((await ask({ ":path": "/healthz", ":method": "HEAD" })).text).toBe("")
    expect(
      (await post("/v1/accounts/acme/key-buckets/http2/consumers", { name: "x", description: "x".repeat(2e6) })).status
    ).toBe(413)
    const branch = { accountName: "acme", projectName: "http2", branchName: "main" }
    const { pathname, search } = new URL(JSON.parse((await post("/v1/deployments/sources", branch)).text).uploadUrl)
    const archive = Buffer.alloc(1_000_000, "archive")
    const put = await ask({ ":method": "PUT", ":path": `${pathname}${search}` }, archive)
    expect(JSON.parse(put.text)).toMatchObject({ bytes: archive.length })
    expect((await ask({ ":path": "/healthz" })).status).toBe(200)
    let host: string | null = null
    const seeing = toNodeHandler({
      matches: () => true,
      handler: async (request) => {
        host = request.headers.get("host")
        return new Response(null)
      }
    })
    server.removeAllListeners("request").on("request", seeing as never)
    await ask({ ":path": "/", ":authority": "sites.example" })
    expect(host).toBe("sites.example")
    // Answered before it was read: the stream is closed, whatever is left to send.
    server
      .removeAllListeners("request")
      .on("request", toNodeHandler({ matches: () => true, handler: async () => new Response("no") }) as never)
    const early = session.request({ ":method": "POST", ":path": "/" })
    early.on("error", () => undefined).resume()
    early.write(Buffer.alloc(2_000_000))
    await once(early, "close")
    session.close()
    server.close()
  })

  it("answers a sender that has not finished, and lets it read the answer", async () => {
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

  it("leaves Koa's own routes", async () => {
    const url = await serve(withKoa("/api/dev"))
    for (const path of ["/api/dev/other", "/v1/metering", "/"]) {
      expect(await (await fetch(`${url}${path}`)).text()).toBe("the host's own")
    }
    expect((await fetch(`${url}/api/dev/v1/metering`)).status).toBe(401)
  })

  it("answers what no web request can say, and goes on", async () => {
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

  const answering = (body: () => ReadableStream<Uint8Array> | string, headers: Record<string, string> = {}) =>
    serve(toNodeHandler({ matches: () => true, handler: async () => new Response(body(), { headers }) }))
  const failing = (after: number) => () => {
    let left = after
    return new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (left-- > 0) controller.enqueue(new Uint8Array(100_000))
        else controller.error(new Error("half way"))
      }
    })
  }

  it("does not pass half an answer off as a whole one", async () => {
    for (const headers of [{}, { "content-length": "10000000" }]) {
      const url = await answering(failing(20), headers as Record<string, string>)
      await expect(fetch(url).then((response) => response.arrayBuffer())).rejects.toThrow()
    }
    const url = await answering(failing(0), { "content-length": "100" })
    const answer = await fetch(url)
    expect([answer.status, answer.headers.get("content-length"), await answer.text()]).toEqual([500, "0", ""])
  })

  it("throws away what still comes for an answer that did not wait for it", async () => {
    const url = await answering(() => "no")
    const { port } = new URL(url)
    const socket = connect(Number(port), "127.0.0.1")
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 20000000\r\n\r\n")
    // Written whole before anything is read, as many clients do.
    await new Promise((resolve, reject) => {
      socket.once("error", reject)
      socket.write(Buffer.alloc(20_000_000), resolve)
    })
    const [data] = await once(socket, "data")
    expect(String(data)).toMatch(/^HTTP\/1\.1 200 /)
    socket.destroy()
  })

  it("leaves alone what others read of the body, and takes text for bytes", async () => {
    const kept: Array<Buffer> = []
    let text = ""
    const handler = toNodeHandler({
      matches: () => true,
      handler: async (request) => {
        text = await request.text()
        return new Response(null)
      }
    })
    const shared = await serve((req, res) => {
      req.on("data", (chunk) => kept.push(chunk))
      void handler(req, res)
    })
    await fetch(shared, { method: "POST", body: "x".repeat(100_000) })
    expect(Buffer.concat(kept).toString()).toBe("x".repeat(100_000))
    expect(text.length).toBe(100_000)
    const decoded = await serve((req, res) => {
      req.setEncoding("utf8")
      void handler(req, res)
    })
    await fetch(decoded, { method: "POST", body: "äöü" })
    expect(text).toBe("äöü")
  })

  it("reads a request that the host has paused", async () => {
    const url = await serve((req, res) => {
      req.pause()
      setImmediate(() => void toNodeHandler(gate)(req, res))
    })
    const made = await fetch(`${url}/v1/accounts/acme/key-buckets/paused/consumers`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: "alice" })
    })
    expect(made.status).toBe(200)
  })

  it("gives a web handler the headers as they are meant: several cookies are one", async () => {
    let seen: ReadonlyArray<string | null> = []
    const url = await serve(
      toNodeHandler({
        matches: () => true,
        handler: async ({ headers }) => {
          seen = [headers.get("cookie"), headers.get("x-many")]
          return new Response(null)
        }
      })
    )
    const socket = connect(Number(new URL(url).port), "127.0.0.1")
    socket.write("GET / HTTP/1.1\r\nhost: x\r\ncookie: a=1\r\ncookie: b=2\r\nx-many: 1\r\nx-many: 2\r\n\r\n")
    await once(socket, "data")
    socket.destroy()
    expect(seen).toEqual(["a=1; b=2", "1, 2"])
  })

  it("takes a path as it was sent: dots lead nowhere", async () => {
    const { port } = new URL(await serve(toNodeHandler(gate)))
    for (const path of ["/v1/../healthz", "/./healthz", "/healthz/.", "/v1/%2e%2e/healthz", "/\\healthz"]) {
      const socket = connect(Number(port), "127.0.0.1")
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
      const [data] = await once(socket, "data")
      expect(String(data), path).toMatch(/^HTTP\/1\.1 404 /)
      socket.destroy()
    }
  })

  it("does not begin for a client that left while the host was busy", async () => {
    let asked = 0
    const handler = toNodeHandler({
      matches: () => true,
      handler: async () => {
        asked++
        return new Response(null)
      }
    })
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    const url = await serve((req, res) => {
      req.once("close", () => void handler(req, res).then(resolve))
    })
    const client = httpRequest(url, { method: "POST" }).on("error", () => undefined)
    client.write("begun")
    client.flushHeaders()
    setImmediate(() => setImmediate(() => client.destroy()))
    await closed
    expect(asked).toBe(0)
  })

  it("aborts what it was doing when the client leaves", async () => {
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
