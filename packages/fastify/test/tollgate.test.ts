import { createServer } from "node:http"
import { connect } from "node:http2"
import { ConfigurationError, createTollgate, type Tollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { type DeploymentsModule, deployments, memorySourceStore, memoryTarget } from "@tollgate/deployments"
import { requireApiKey, tollgate } from "@tollgate/fastify"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import Fastify, { type FastifyInstance } from "fastify"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"

const token = "a-management-token-for-acme"
const headers = { authorization: `Bearer ${token}` }
let gate: Tollgate<DeploymentsModule>
let app: FastifyInstance

beforeAll(async () => {
  gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "test-secret-with-at-least-32-characters",
    tokens: [{ token, account: "acme" }],
    modules: [deployments({ sources: memorySourceStore(), target: memoryTarget() })],
    publicUrl: "http://gate/api/dev"
  })
})
afterAll(() => gate.close())
beforeEach(() => {
  app = Fastify()
})
afterEach(() => app.close())

const listen = () => app.listen({ port: 0, host: "127.0.0.1" })

describe("tollgate", () => {
  it("serves the HTTP API at the prefix of the plugin", async () => {
    app.register(tollgate(gate), { prefix: "/api/dev" })
    const client = createClient({ baseUrl: `${await listen()}/api/dev`, token })
    const { consumers, keys } = client.account("acme").keyBucket("production")
    // Fastify limits parameters to 100 characters, but not the path of the plugin.
    const name = "a".repeat(120)
    await consumers.create({ name }, { withApiKey: true })
    expect((await keys.list(name)).total).toBe(1)
    await consumers.remove(name)
  })

  it.each([
    ["/api/dev/", "/api/dev"],
    ["/", ""]
  ])("serves the HTTP API at the prefix %s", async (prefix, path) => {
    app.register(tollgate(gate), { prefix })
    expect((await app.inject(`${path}/healthz`)).statusCode).toBe(200)
    expect((await app.inject({ url: `${path}/healthz`, method: "HEAD" })).body).toBe("")
  })

  it("serves the HTTP API below the prefixes of its parents, and says so in Location", async () => {
    const parent = async (scope: FastifyInstance) => void scope.register(tollgate(gate), { prefix: "/dev" })
    app.register(parent, { prefix: "/nested" })
    const url = `${await listen()}/nested/dev/v1/accounts/acme/key-buckets/nested/consumers`
    const post = (path: string) =>
      fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(path === "" ? { name: "alice" } : {}) })
    expect((await post("")).status).toBe(200)
    const location = (await post("/alice/keys")).headers.get("location") ?? ""
    expect((await fetch(new URL(location, url), { headers })).status).toBe(200)
  })

  it("streams uploads of any type that are larger than Fastify's body limit", async () => {
    app.register(tollgate(gate), { prefix: "/api/dev" })
    const url = await listen()
    const { deployments } = gate.account("acme").project("web")
    const archive = new Uint8Array(2_000_000).fill(7)
    for (const type of ["application/gzip", "application/json", "text/plain", undefined]) {
      const { uploadUrl } = await deployments.createSource({ branchName: "main" })
      const response = await fetch(uploadUrl.replace("http://gate", url), {
        method: "PUT",
        body: archive,
        headers: type === undefined ? {} : { "content-type": type }
      })
      expect(await response.json(), type).toMatchObject({ bytes: 2_000_000 })
    }
  })

  it("keeps the parsers, the routes and the 404 of the application", async () => {
    app.register(tollgate(gate), { prefix: "/api/dev" })
    app.post("/own", async ({ body }) => body)
    app.get("/api/dev/own", async () => "own route")
    app.setNotFoundHandler((_request, reply) => reply.code(404).send("own 404"))
    const own = await app.inject({ url: "/own", method: "POST", payload: { a: 1 } })
    expect(own.json()).toEqual({ a: 1 })
    expect((await app.inject("/api/dev/own")).body).toBe("own route")
    for (const url of ["/api/dev/unknown", "/v1/metering", "/api/dev"]) {
      expect((await app.inject(url)).body, url).toBe("own 404")
    }
    expect((await app.inject("/api/dev/v1/metering")).statusCode).toBe(401)
  })

  it("sends the headers that hooks have set, and calls onResponse", async () => {
    let status: number | undefined
    app.addHook("onRequest", async (_request, reply) => void reply.header("access-control-allow-origin", "*"))
    app.addHook("onResponse", async (_request, reply) => {
      status = reply.statusCode
    })
    app.register(tollgate(gate), { prefix: "/api/dev" })
    const response = await fetch(`${await listen()}/api/dev/healthz`)
    expect(response.headers.get("access-control-allow-origin")).toBe("*")
    await response.text()
    await expect.poll(() => status).toBe(200)
  })

  it("serves HTTP/2", async () => {
    const http2 = Fastify({ http2: true })
    http2.register(tollgate(gate), { prefix: "/api/dev" })
    http2.get("/own", { onRequest: requireApiKey(gate.account("acme").keyBucket("production")) }, async () => "own")
    const session = connect(await http2.listen({ port: 0, host: "127.0.0.1" }))
    const getStatus = (path: string) =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ":path": path }).resume().on("error", reject)
        stream.on("response", ({ ":status": status }) => resolve(status))
      })
    expect(await Promise.all(["/api/dev/healthz", "/own"].map(getStatus))).toEqual([200, 401])
    session.close()
    await http2.close()
  })

  it("rejects an invalid gate or option when it is created", () => {
    for (const other of [undefined, {}, Promise.resolve(gate)]) {
      expect(() => tollgate(other as never)).toThrow("gate: must be the result of `await createTollgate(…)`")
    }
    for (const [option, options] of [
      ["prefix", { prefix: "/api/dev" }],
      ["context", { context: "request" }],
      ["options", null]
    ] as const) {
      const create = () => tollgate(gate, options as never)
      expect(create).toThrow(ConfigurationError)
      expect(create).toThrow(expect.objectContaining({ option }))
    }
  })
})

describe("a server of Fastify with toNodeHandler in front", () => {
  it("serves the hosts of sitesUrl, and the routes of the application elsewhere", async () => {
    const sitesGate = await createTollgate({
      store: MemoryStore.open(),
      secret: "test-secret-with-at-least-32-characters",
      modules: [deployments({ sources: memorySourceStore(), target: memoryTarget(), sitesUrl: "http://127.0.0.1" })],
      publicUrl: "http://gate/api/dev"
    })
    const api = toNodeHandler(sitesGate, { prefix: "/api/dev" })
    const fronted = Fastify({
      serverFactory: (handler) => createServer((req, res) => void api(req, res, () => handler(req, res)))
    })
    fronted.get("/own", async () => "own route")
    const { port } = new URL(await fronted.listen({ port: 0, host: "127.0.0.1" }))
    expect(await (await fetch(`http://localhost:${port}/own`)).text()).toBe("own route")
    expect((await fetch(`http://localhost:${port}/api/dev/healthz`)).status).toBe(200)
    expect((await fetch(`http://127.0.0.1:${port}/own`)).status).toBe(404)
    await fronted.close()
    await sitesGate.close()
  })
})

describe("requireApiKey", () => {
  it("protects all routes of a scope, and accepts a request that is decorated", async () => {
    const production = gate.account("acme").keyBucket("scope")
    const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
    app.decorateRequest("consumer", undefined)
    app.register(async (scope) => {
      scope.addHook("onRequest", requireApiKey(production))
      scope.get<{ Params: { id: string }; Querystring: { q?: string } }>("/orders/:id", async (request) => ({
        id: request.params.id,
        name: request.consumer?.name
      }))
    })
    app.get("/public", async (request) => ({ name: request.consumer?.name }))
    const authorization = `Bearer ${apiKeys?.[0]?.key}`
    expect((await app.inject({ url: "/orders/1", headers: { authorization } })).json()).toEqual({
      id: "1",
      name: "alice"
    })
    expect((await app.inject("/orders/1")).statusCode).toBe(401)
    expect((await app.inject("/public")).json()).toEqual({})
  })

  it("rejects a request before Fastify reads its body", async () => {
    app.post("/", { onRequest: requireApiKey(gate.account("acme").keyBucket("production")) }, async () => "handled")
    const response = await app.inject({
      url: "/",
      method: "POST",
      body: "{",
      headers: { "content-type": "application/json" }
    })
    expect(response.statusCode).toBe(401)
  })
})
