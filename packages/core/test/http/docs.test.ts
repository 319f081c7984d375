import { hash } from "node:crypto"
import { adminConsole } from "@tollgate/console"
import { createTollgate, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { afterEach, describe, expect, it } from "vitest"
import { grants, secret, tokens } from "../stores.ts"
import { type Client, makeClient } from "./client.ts"

const pagePath = "/v1/docs"
const descriptionPath = "/v1/openapi.json"
const docsPaths = [pagePath, descriptionPath]

const gates: Array<Tollgate> = []
const open = async (
  options: Partial<Omit<TollgateOptions, "modules">> = {}
): Promise<{ gate: Tollgate; call: Client }> => {
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret,
    tokens: grants,
    modules: [adminConsole()],
    ...options
  })
  gates.push(gate)
  return { gate, call: makeClient(gate.handler) }
}
afterEach(async () => {
  for (const gate of gates.splice(0)) await gate.close()
})

describe("the documentation page", () => {
  it("is one small document whose Content-Security-Policy allows its inline code and its own origin only", async () => {
    const { call } = await open()
    const { status, headers, body } = await call("GET", pagePath, { token: null })
    expect(status).toBe(200)
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(Buffer.byteLength(body)).toBeLessThan(40_000)
    const inline = (tag: string): string => {
      const matches = [...body.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, "gs"))]
      expect(matches.length).toBe(1)
      return `'sha256-${hash("sha256", matches[0]?.[1] ?? "", "base64")}'`
    }
    expect(headers.get("content-security-policy")).toBe(
      [
        "default-src 'none'",
        `script-src ${inline("script")}`,
        `style-src ${inline("style")}`,
        "img-src data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'"
      ].join("; ")
    )
    expect(headers.get("x-content-type-options")).toBe("nosniff")
    expect(headers.get("referrer-policy")).toBe("no-referrer")
    expect(body).not.toMatch(/https?:\/\/|innerHTML|\son[a-z]+="/)
  })
})

describe("the page and the description", () => {
  it.each(docsPaths)("respond with 304 while the ETag matches: %s", async (path) => {
    const { call } = await open()
    const first = await call("GET", path)
    const etag = first.headers.get("etag") ?? ""
    expect(etag).toMatch(/^"[\w-]{22}"$/)
    expect(first.headers.get("cache-control")).toBe("no-cache")
    expect((await call("GET", path)).headers.get("etag")).toBe(etag)
    for (const ifNoneMatch of [etag, `W/${etag}`, `"another", ${etag}`, "*"]) {
      const cached = await call("GET", path, { headers: { "if-none-match": ifNoneMatch } })
      expect([ifNoneMatch, cached.status, cached.body]).toEqual([ifNoneMatch, 304, ""])
      expect(cached.headers.get("etag")).toBe(etag)
      expect(cached.headers.get("content-security-policy")).toBe(first.headers.get("content-security-policy"))
    }
    expect((await call("GET", path, { headers: { "if-none-match": '"another"' } })).status).toBe(200)
  })

  it.each(docsPaths)("respond to HEAD like to GET, without the body: %s", async (path) => {
    const { call } = await open()
    const get = await call("GET", path)
    const head = await call("HEAD", path)
    expect([head.status, head.headers.get("etag")]).toEqual([200, get.headers.get("etag")])
    expect(head.headers.get("content-length")).toBe(get.headers.get("content-length"))
  })

  it.each(docsPaths)("are 404 for any method when turned off: %s", async (path) => {
    const { gate, call } = await open({ docs: false })
    for (const method of ["GET", "HEAD", "POST"]) {
      const response = await call(method, path, { token: tokens.admin })
      expect([method, response.status, response.headers.get("allow")]).toEqual([method, 404, null])
    }
    expect([gate.matches(path), gate.matches(`${path}/`), gate.matches("/v1/metering")]).toEqual([false, false, true])
    expect((await open({ docs: true })).gate.matches(path)).toBe(true)
    expect((await open()).gate.matches(path)).toBe(true)
  })

  it("reject an invalid value of the option docs", async () => {
    const options = { store: MemoryStore.open(), secret, docs: "private" } as unknown as TollgateOptions
    await expect(createTollgate(options)).rejects.toThrow('docs: must be true, false or "protected"')
  })
})

describe("a protected description", () => {
  it("requires a credential of any account and access, and is not cached by shared caches", async () => {
    const { gate, call } = await open({ docs: "protected" })
    for (const token of [null, "an-unknown-token"]) {
      const rejected = await call("GET", descriptionPath, { token, headers: { "if-none-match": "*" } })
      expect(rejected).toMatchObject({ status: 401, body: { type: "urn:tollgate:problem:unauthorized" } })
      expect(rejected.headers.get("etag")).toBeNull()
    }
    for (const token of [tokens.reader, tokens.otherAccount, tokens.admin]) {
      const allowed = await call("GET", descriptionPath, { token })
      expect([allowed.status, allowed.headers.get("cache-control")]).toEqual([200, "private, no-cache"])
    }
    expect((await call("GET", pagePath, { token: null })).status).toBe(200)
    expect(docsPaths.map((path) => gate.matches(path))).toEqual([true, true])
  })

  it("accepts a cookie that authenticate reads", async () => {
    const gate = await createTollgate({
      store: MemoryStore.open(),
      secret,
      docs: "protected",
      authenticate: (request) =>
        request.headers.get("cookie") === "session=1" ? { id: "me", account: "acme", access: "read" } : undefined
    })
    gates.push(gate)
    const call = makeClient(gate.handler)
    expect((await call("GET", descriptionPath, { token: null })).status).toBe(401)
    expect((await call("GET", descriptionPath, { token: null, headers: { cookie: "session=1" } })).status).toBe(200)
  })
})

describe("the servers of the description", () => {
  const getServers = async (call: Client) => (await call("GET", descriptionPath)).body.servers

  it.each([
    ["http://host/v1/openapi.json", "http://host/"],
    ["http://host/api/dev/v1/openapi.json", "http://host/api/dev/"]
  ])("are relative to %s when no URL is configured", async (descriptionUrl, server) => {
    const { call } = await open()
    const [{ url }] = await getServers(call)
    expect(new URL(url, descriptionUrl).href).toBe(server)
  })

  it("are publicUrl, if it is set", async () => {
    const { call } = await open({ publicUrl: "https://api.example.com/dev/" })
    expect(await getServers(call)).toEqual([{ url: "https://api.example.com/dev" }])
  })

  it("are the base path of the binding, each with a different ETag", async () => {
    const { gate } = await open()
    const getDescription = async (basePath: string) => {
      const request = new Request(`http://gate${descriptionPath}`)
      const { headers, body } = await gate.dispatch({
        method: "GET",
        pathAndQuery: descriptionPath,
        basePath,
        headers: {},
        readBytes: async () => undefined,
        body: () => null,
        toWebRequest: () => request,
        signal: () => request.signal
      })
      return [JSON.parse(String(body)).servers, headers["etag"]]
    }
    const [dev, other, repeated] = [
      await getDescription("/api/dev"),
      await getDescription("/other"),
      await getDescription("/api/dev")
    ]
    expect(dev[0]).toEqual([{ url: "/api/dev" }])
    expect(other[0]).toEqual([{ url: "/other" }])
    expect(dev[1]).not.toBe(other[1])
    expect(repeated).toEqual(dev)
  })
})

describe("a gate without sites", () => {
  it("responds with 404 below /sites, for any method", async () => {
    const { gate, call } = await open()
    for (const method of ["GET", "POST"]) expect((await call(method, "/sites/shop/")).status).toBe(404)
    expect(gate.matches("/sites/shop/")).toBe(false)
  })
})
