/**
 * The host of `sitesUrl` serves sites and nothing else.
 */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2"
import { tollgate as expressTollgate } from "@tollgate/express"
import { tollgate as koaTollgate } from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import express from "express"
import Koa from "koa"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makePageArchive } from "./archives.ts"
import { type RequestInput, sendRequest } from "./sendRequest.ts"
import { startTestServer, type TestServer } from "./testServer.ts"

const apiPaths = ["/", "/v1/docs", "/v1/openapi.json", "/v1/metering", "/healthz", "/readyz", "/v1/deployments/x"]

describe("a shared host for all sites", () => {
  let server: TestServer
  let path: string
  const send = (host: string, path: string, input?: RequestInput) =>
    sendRequest(new URL(server.url).port, host, path, input)
  beforeAll(async () => {
    server = await startTestServer(MemoryStore.open(), { sitesUrl: "http://sites.example:8080/" })
    const { url } = await server.deploy("origin", makePageArchive("own"))
    expect(url).toMatch(/^http:\/\/sites\.example:8080\/sites\/origin-main-[a-z2-7]{12}\/$/)
    path = new URL(url).pathname
  })
  afterAll(() => server.close())

  it.each(["sites.example:8080", "sites.example", "SITES.Example", "sites.example.", "sites.example.:80"])(
    "serves only sites at %s, without a sandbox",
    async (host) => {
      const site = await send(host, path)
      expect([site.status, site.text, site.headers["content-security-policy"]]).toEqual([200, "own", undefined])
      for (const other of apiPaths) expect((await send(host, other)).status, other).toBe(404)
      expect((await send(host, "/v1/docs", { method: "POST" })).status).toBe(404)
      expect(await send(host, path, { method: "POST" })).toMatchObject({
        status: 405,
        headers: { allow: "GET, HEAD" }
      })
    }
  )

  it.each(["127.0.0.1", "evil.example", "xsites.example", "x.sites.example"])(
    "does not include %s, which serves the API, and sites in a sandbox",
    async (host) => {
      const headers = { "x-forwarded-host": "sites.example:8080", forwarded: "host=sites.example" }
      const site = await send(host, path, { headers })
      expect([site.status, site.headers["content-security-policy"]]).toEqual([200, "sandbox"])
      expect((await send(host, "/healthz", { headers })).status).toBe(200)
    }
  )

  it("is recognized by the URL of a web request and by `matches`", async () => {
    const get = (url: string) => server.gate.handler(new Request(url))
    expect((await get(`http://sites.example${path}`)).headers.get("content-security-policy")).toBeNull()
    expect((await get("http://sites.example/healthz")).status).toBe(404)
    expect((await get("http://api.example/healthz")).status).toBe(200)
    expect(server.gate.matches("/anything", "sites.example:1")).toBe(true)
    expect(server.gate.matches("/anything", "api.example")).toBe(false)
    expect(server.gate.matches("/healthz")).toBe(true)
  })
})

describe("a host for each deployment", () => {
  let server: TestServer
  let host: string
  const closers: Array<() => void> = []
  const send = (host: string, path: string, input?: RequestInput) =>
    sendRequest(new URL(server.url).port, host, path, input)
  beforeAll(async () => {
    server = await startTestServer(MemoryStore.open(), { sitesUrl: "https://{name}.sites.example" })
    const files = ["v1/docs/index.html", "healthz", "api/dev/x"].map((name) => ({ name, content: `site: ${name}` }))
    const { url } = await server.deploy("origin", makePageArchive("root", ...files))
    expect(url).toMatch(/^https:\/\/origin-main-[a-z2-7]{12}\.sites\.example\/$/)
    host = new URL(url).host
  })
  afterAll(async () => {
    for (const close of closers) close()
    await server.close()
  })

  const listen = async (listener: RequestListener): Promise<string> => {
    const server = createServer(listener).listen(0, "127.0.0.1")
    await once(server, "listening")
    closers.push(() => server.close().closeAllConnections())
    const address = server.address()
    return String(typeof address === "object" && address !== null ? address.port : 0)
  }

  it("serves its files from the root without a sandbox, also at paths of the API", async () => {
    for (const hostHeader of [host, `${host}:443`, `${host.toUpperCase()}.`]) {
      const root = await send(hostHeader, "/")
      expect([root.status, root.text, root.headers["content-security-policy"]]).toEqual([200, "root", undefined])
      expect((await send(hostHeader, "/v1/docs/")).text).toBe("site: v1/docs/index.html")
      expect((await send(hostHeader, "/healthz")).text).toBe("site: healthz")
    }
    expect((await send(host, "/v1/docs?a=1")).headers["location"]).toBe("./docs/?a=1")
    expect((await send(host, "/", { method: "HEAD" })).status).toBe(200)
    expect((await send(host, "/", { method: "POST" })).headers["allow"]).toBe("GET, HEAD")
    for (const path of ["/v1/openapi.json", "/readyz", `/sites/${host.split(".")[0]}/`]) {
      expect((await send(host, path)).status, path).toBe(404)
    }
  })

  it("responds with 404 for an unknown deployment", async () => {
    for (const hostHeader of ["unknown.sites.example", `a.${host}`, "-.sites.example", ".sites.example"]) {
      for (const path of ["/", "/healthz", "/v1/docs"])
        expect((await send(hostHeader, path)).status, hostHeader).toBe(404)
    }
    expect((await send("sites.example", "/healthz")).status).toBe(200)
    const sandboxed = await send("127.0.0.1", `/sites/${host.split(".")[0]}/`)
    expect([sandboxed.text, sandboxed.headers["content-security-policy"]]).toEqual(["root", "sandbox"])
  })

  it("is recognized by :authority over HTTP/2", async () => {
    const http2 = createHttp2Server(toNodeHandler(server.gate) as never).listen(0, "127.0.0.1")
    await once(http2, "listening")
    const address = http2.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    const getStatus = async (authority: string, path: string) => {
      const stream = session.request({ ":authority": authority, ":path": path })
      const [headers] = await once(stream.resume(), "response")
      return headers[":status"]
    }
    expect(await getStatus(host, "/")).toBe(200)
    expect(await getStatus(host, "/v1/openapi.json")).toBe(404)
    expect(await getStatus("api.example", "/v1/openapi.json")).toBe(200)
    session.destroy()
    http2.close()
  })

  it("takes precedence over the application's routes, in Express, Koa, and below a prefix", async () => {
    const app = express()
    app.use(expressTollgate(server.gate))
    app.get("/", (_, res) => void res.send("host"))
    const koa = new Koa()
    koa.use(koaTollgate(server.gate, { prefix: "/api/dev" }))
    koa.use((ctx) => {
      ctx.body = "host"
    })
    const handle = toNodeHandler(server.gate, { prefix: "/api/dev" })
    const node: RequestListener = (req, res) => void handle(req, res, () => void res.end("host"))
    for (const listener of [app, koa.callback(), node]) {
      const port = await listen(listener as RequestListener)
      expect((await sendRequest(port, "api.example", "/")).text).toBe("host")
      expect((await sendRequest(port, host, "/")).text).toBe("root")
      expect((await sendRequest(port, host, "/api/dev/x")).text).toBe("site: api/dev/x")
      expect((await sendRequest(port, "unknown.sites.example", "/")).status).toBe(404)
    }
  })
})
