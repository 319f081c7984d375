import { hash } from "node:crypto"
import { createTollgate, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { afterEach, describe, expect, it } from "vitest"
import { grants, secret, tokens } from "../stores.ts"
import { type Client, clientOf } from "./client.ts"

const pagePath = "/v1/docs"
const descriptionPath = "/v1/openapi.json"
const both = [pagePath, descriptionPath]

const gates: Array<Tollgate> = []
const open = async (options: Partial<TollgateOptions> = {}): Promise<{ gate: Tollgate; call: Client }> => {
  const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants, ...options })
  gates.push(gate)
  return { gate, call: clientOf(gate.handler) }
}
afterEach(async () => {
  for (const gate of gates.splice(0)) await gate.close()
})

describe("the documentation page", () => {
  it("is one small document that its own policy allows to run, and to connect to its own origin alone", async () => {
    const { call } = await open()
    const { status, headers, body } = await call("GET", pagePath, { token: null })
    expect(status).toBe(200)
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(Buffer.byteLength(body)).toBeLessThan(40_000)
    const inline = (tag: string): string => {
      const found = [...body.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, "gs"))]
      expect(found.length).toBe(1)
      return `'sha256-${hash("sha256", found[0]?.[1] ?? "", "base64")}'`
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
  it.each(both)("are served from a cache until they change: %s", async (path) => {
    const { call } = await open()
    const first = await call("GET", path)
    const etag = first.headers.get("etag") ?? ""
    expect(etag).toMatch(/^"[\w-]{22}"$/)
    expect(first.headers.get("cache-control")).toBe("no-cache")
    expect((await call("GET", path)).headers.get("etag")).toBe(etag)
    for (const known of [etag, `W/${etag}`, `"another", ${etag}`, "*"]) {
      const again = await call("GET", path, { headers: { "if-none-match": known } })
      expect([known, again.status, again.body]).toEqual([known, 304, ""])
      expect(again.headers.get("etag")).toBe(etag)
      expect(again.headers.get("content-security-policy")).toBe(first.headers.get("content-security-policy"))
    }
    expect((await call("GET", path, { headers: { "if-none-match": '"another"' } })).status).toBe(200)
  })

  it.each(both)("answer HEAD like GET, without the body: %s", async (path) => {
    const { call } = await open()
    const got = await call("GET", path)
    const head = await call("HEAD", path)
    expect([head.status, head.headers.get("etag")]).toEqual([200, got.headers.get("etag")])
    expect(head.headers.get("content-length")).toBe(got.headers.get("content-length"))
  })

  it.each(both)("are not there when turned off, for any method: %s", async (path) => {
    const { gate, call } = await open({ docs: false })
    for (const method of ["GET", "HEAD", "POST"]) {
      const answer = await call(method, path, { token: tokens.admin })
      expect([method, answer.status, answer.headers.get("allow")]).toEqual([method, 404, null])
    }
    expect([gate.matches(path), gate.matches(`${path}/`), gate.matches("/v1/metering")]).toEqual([false, false, true])
    expect((await open({ docs: true })).gate.matches(path)).toBe(true)
    expect((await open()).gate.matches(path)).toBe(true)
  })

  it("are refused as an option that is neither", async () => {
    const options = { store: MemoryStore.open(), secret, docs: "private" } as unknown as TollgateOptions
    await expect(createTollgate(options)).rejects.toThrow('docs: must be true, false or "protected"')
  })
})

describe("a protected description", () => {
  it("needs a credential, of any account and access, and stays out of shared caches", async () => {
    const { gate, call } = await open({ docs: "protected" })
    for (const token of [null, "a-token-that-nobody-has"]) {
      const refused = await call("GET", descriptionPath, { token, headers: { "if-none-match": "*" } })
      expect(refused).toMatchObject({ status: 401, body: { type: "urn:tollgate:problem:unauthorized" } })
      expect(refused.headers.get("etag")).toBeNull()
    }
    for (const token of [tokens.reader, tokens.stranger, tokens.admin]) {
      const allowed = await call("GET", descriptionPath, { token })
      expect([allowed.status, allowed.headers.get("cache-control")]).toEqual([200, "private, no-cache"])
    }
    expect((await call("GET", pagePath, { token: null })).status).toBe(200)
    expect(both.map((path) => gate.matches(path))).toEqual([true, true])
  })

  it("can be opened by a cookie that the host reads", async () => {
    const gate = await createTollgate({
      store: MemoryStore.open(),
      secret,
      docs: "protected",
      authenticate: (request) =>
        request.headers.get("cookie") === "session=1" ? { id: "me", account: "acme", access: "read" } : undefined
    })
    gates.push(gate)
    const call = clientOf(gate.handler)
    expect((await call("GET", descriptionPath, { token: null })).status).toBe(401)
    expect((await call("GET", descriptionPath, { token: null, headers: { cookie: "session=1" } })).status).toBe(200)
  })
})

describe("the servers of the description", () => {
  const serversOf = async (call: Client) => (await call("GET", descriptionPath)).body.servers

  it.each([
    ["http://host/v1/openapi.json", "http://host/"],
    ["http://host/api/dev/v1/openapi.json", "http://host/api/dev/"]
  ])("are relative to %s where no address is known", async (address, server) => {
    const { call } = await open()
    const [{ url }] = await serversOf(call)
    expect(new URL(url, address).href).toBe(server)
  })

  it("are the public address, where the host has given one", async () => {
    const { call } = await open({ publicUrl: "https://api.example.com/dev/" })
    expect(await serversOf(call)).toEqual([{ url: "https://api.example.com/dev" }])
  })

  it("are the path that a binding knows, each with an ETag of its own", async () => {
    const { gate } = await open()
    const ask = async (base: string) => {
      const request = new Request(`http://gate${descriptionPath}`)
      const { headers, body } = await gate.dispatch({
        method: "GET",
        url: descriptionPath,
        basePath: base,
        headers: {},
        bytes: async () => undefined,
        body: () => null,
        toWebRequest: () => request,
        signal: () => request.signal
      })
      return [JSON.parse(String(body)).servers, headers["etag"]]
    }
    const [dev, other, again] = [await ask("/api/dev"), await ask("/other"), await ask("/api/dev")]
    expect(dev[0]).toEqual([{ url: "/api/dev" }])
    expect(other[0]).toEqual([{ url: "/other" }])
    expect(dev[1]).not.toBe(other[1])
    expect(again).toEqual(dev)
  })
})

describe("a gate without sites", () => {
  it("answers 404 below /sites, for any method", async () => {
    const { gate, call } = await open()
    for (const method of ["GET", "POST"]) expect((await call(method, "/sites/shop/")).status).toBe(404)
    expect(gate.matches("/sites/shop/")).toBe(false)
  })
})
