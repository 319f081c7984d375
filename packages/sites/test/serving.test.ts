import { request as httpRequest } from "node:http"
import { MemoryStore } from "@tollgate/memory"
import { listOpenFiles } from "@tollgate/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeArchive, makePageArchive } from "./archives.ts"
import { startTestServer, type TestServer } from "./testServer.ts"

let server: TestServer
let site: string
const digits = "0123456789".repeat(20_000)

beforeAll(async () => {
  server = await startTestServer(MemoryStore.open(), {})
  const archive = makeArchive(
    { name: "index.html", content: "<h1>hello</h1>" },
    { name: "404.html", content: "custom 404" },
    { name: "app.js", content: "1" },
    { name: "style.css", content: "a{}" },
    { name: "data.json", content: "{}" },
    { name: "picture.svg", content: "<svg/>" },
    { name: "picture.png", content: "png" },
    { name: "font.woff2", content: "font" },
    { name: "module.wasm", content: "wasm" },
    { name: "unknown", content: "?" },
    { name: "empty.txt" },
    { name: "with space & ü.txt", content: "named" },
    { name: "docs/index.html", content: "docs" },
    { name: "http:evil.com/index.html", content: "an ordinary folder" },
    { name: "digits.txt", content: digits },
    { name: ".env", content: "SECRET" },
    { name: ".well-known/security.txt", content: "contact" },
    { name: "__proto__/x", content: "plain" }
  )
  site = (await server.deploy("serving", archive)).url
})
afterAll(() => server.close())

const get = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
  const response = await fetch(`${site}${path}`, { method, headers, redirect: "manual" })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Requests a path without the URL normalization of `fetch`. */
const getRaw = (path: string, host?: string) =>
  new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const { hostname, port } = new URL(site)
    const headers = host === undefined ? {} : { host }
    httpRequest({ hostname, port, path, headers }, (res) => {
      let text = ""
      res.on("data", (chunk) => {
        text += chunk
      })
      res.on("end", () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text }))
    })
      .on("error", reject)
      .end()
  })

describe("a site", () => {
  it.each([
    ["", "text/html; charset=utf-8"],
    ["app.js", "text/javascript; charset=utf-8"],
    ["style.css", "text/css; charset=utf-8"],
    ["data.json", "application/json; charset=utf-8"],
    ["picture.svg", "image/svg+xml; charset=utf-8"],
    ["picture.png", "image/png"],
    ["font.woff2", "font/woff2"],
    ["module.wasm", "application/wasm"],
    ["unknown", "application/octet-stream"]
  ])("serves %j with its content type", async (path, type) => {
    const { status, headers } = await get(path)
    expect({ status, type: headers.get("content-type") }).toEqual({ status: 200, type })
    expect(headers.get("x-content-type-options")).toBe("nosniff")
    expect(headers.get("cache-control")).toBe("no-cache")
    expect(headers.get("content-security-policy")).toBe("sandbox")
  })

  it("serves the index of a folder, and redirects to it", async () => {
    expect(await get("docs/")).toMatchObject({ status: 200, text: "docs" })
    const withoutSlash = await get("docs?a=1")
    expect(withoutSlash.status).toBe(308)
    expect(new URL(withoutSlash.headers.get("location") ?? "", `${site}docs`).href).toBe(`${site}docs/?a=1`)
    const root = await getRaw(`${new URL(site).pathname.slice(0, -1)}?a=1`)
    expect(root.status).toBe(308)
    expect(new URL(String(root.headers["location"]), site.slice(0, -1)).href).toBe(`${site}?a=1`)
    const schemeLike = await get("http:evil.com")
    expect(new URL(schemeLike.headers.get("location") ?? "", `${site}http:evil.com`).href).toBe(`${site}http:evil.com/`)
  })

  it("serves files with unusual names", async () => {
    expect((await get(encodeURIComponent("with space & ü.txt"))).text).toBe("named")
    expect((await get("__proto__/x")).text).toBe("plain")
    expect(await get("empty.txt")).toMatchObject({ status: 200, text: "" })
    expect((await get(".well-known/security.txt")).text).toBe("contact")
    for (const path of ["__proto__", "constructor", "toString", "hasOwnProperty/index.html"]) {
      expect(await get(path), path).toMatchObject({ status: 404, text: "custom 404" })
    }
  })

  it("responds with 304 to a matching If-None-Match", async () => {
    const first = await get("app.js")
    const etag = first.headers.get("etag") ?? ""
    expect(etag).toMatch(/^"[\w-]{43}"$/)
    for (const tag of [etag, `"other", ${etag}`, `W/${etag}`, "*"]) {
      expect(await get("app.js", { "if-none-match": tag }), tag).toMatchObject({ status: 304, text: "" })
    }
    expect((await get("app.js", { "if-none-match": '"other"' })).status).toBe(200)
  })

  it("keeps the ETag of a file that a new version does not change", async () => {
    const { url } = await server.deploy("tags", makePageArchive("same", { name: "a.txt", content: "one" }))
    const getETag = async (path: string) => (await fetch(`${url}${path}`)).headers.get("etag")
    const before = [await getETag(""), await getETag("a.txt")]
    await server.deploy("tags", makePageArchive("same", { name: "a.txt", content: "two" }))
    expect(await getETag("")).toBe(before[0])
    expect(await getETag("a.txt")).not.toBe(before[1])
  })

  it("serves ranges", async () => {
    const size = digits.length
    const getRange = async (range: string, extraHeaders: Record<string, string> = {}) => {
      const { status, headers, text } = await get("digits.txt", { range, ...extraHeaders })
      return { status, range: headers.get("content-range"), length: headers.get("content-length"), text }
    }
    expect(await getRange("bytes=2-5")).toEqual({ status: 206, range: `bytes 2-5/${size}`, length: "4", text: "2345" })
    expect(await getRange("bytes=-3")).toMatchObject({
      status: 206,
      range: `bytes ${size - 3}-${size - 1}/${size}`,
      text: "789"
    })
    expect(await getRange(`bytes=${size - 1}-`)).toMatchObject({ status: 206, text: "9" })
    expect(await getRange(`bytes=1-${size * 2}`)).toMatchObject({ status: 206, length: String(size - 1) })
    expect(await getRange(`bytes=${size}-`)).toMatchObject({ status: 416, range: `bytes */${size}` })
    for (const range of ["bytes=0-1,4-5", "lines=1-2", "nonsense", "bytes=x-y"]) {
      expect(await getRange(range), range).toMatchObject({ status: 200, range: null, text: digits })
    }
    const etag = (await get("digits.txt")).headers.get("etag") ?? ""
    expect((await getRange("bytes=0-1", { "if-range": etag })).status).toBe(206)
    expect((await getRange("bytes=0-1", { "if-range": '"other"' })).status).toBe(200)
  })

  it("responds to HEAD as to GET, without the body", async () => {
    const { status, headers, text } = await get("digits.txt", {}, "HEAD")
    expect({ status, length: headers.get("content-length"), text }).toEqual({
      status: 200,
      length: String(digits.length),
      text: ""
    })
    const [getResponse, headResponse] = [await get("nowhere"), await get("nowhere", {}, "HEAD")]
    expect(headResponse).toMatchObject({ status: 404, text: "" })
    expect(headResponse.headers.get("content-type")).toBe(getResponse.headers.get("content-type"))
    expect(headResponse.headers.get("content-security-policy")).toBe("sandbox")
    expect((await get("app.js", {}, "POST")).status).toBe(405)
  })

  it("closes its files when the client disconnects", async () => {
    const { url } = await server.deploy(
      "large",
      makePageArchive("x", { name: "large.bin", content: Buffer.alloc(3_000_000) })
    )
    const { hostname, port, pathname } = new URL(url)
    const download = (disconnectAt: 0 | 1 | 2) =>
      new Promise<void>((resolve) => {
        const request = httpRequest({ hostname, port, path: `${pathname}large.bin` }, (res) => {
          res.once("data", () => disconnectAt === 2 && request.destroy())
          res.once("close", () => resolve())
        })
        request.on("error", () => resolve()).end()
        if (disconnectAt === 0) request.destroy()
        if (disconnectAt === 1) setImmediate(() => setImmediate(() => request.destroy()))
      })
    for (let round = 0; round < 30; round++) await Promise.all([download(0), download(1), download(2), download(2)])
    await expect.poll(() => listOpenFiles(server.folder)).toEqual([])
  })

  it("does not serve files outside its folder, or dotfiles", async () => {
    const { pathname } = new URL(site)
    const paths = [
      "../../../../etc/passwd",
      "..%2f..%2f..%2fetc/passwd",
      "%2e%2e/%2e%2e/etc/passwd",
      "..%5c..%5cetc",
      "%2fetc%2fpasswd",
      "/etc/passwd",
      "./../manifest",
      "manifest",
      "../manifest",
      "docs/../../manifest",
      "app.js%00.html",
      "%",
      "%ff",
      ".env",
      "%2eenv"
    ]
    for (const path of paths) {
      const { status, text } = await getRaw(`${pathname}${path}`)
      expect([400, 404], path).toContain(status)
      expect(text, path).not.toMatch(/root:|SECRET|"root"/)
    }
    // A guard in front of Tollgate sees the path that is served.
    const name = pathname.split("/")[2]
    for (const way of ["x/..", "x/%2e%2e", "x/%2E.", "x/y/../..", ".", "%2e", "x\\.."]) {
      expect((await getRaw(`/sites/${way}/${name}/`)).status, way).toBe(404)
    }
    expect((await getRaw(`/sites/${name}/`)).status).toBe(200)
    expect((await getRaw("/sites/")).status).toBe(404)
    expect((await getRaw("/sites")).status).toBe(404)
    expect((await getRaw("/sites/unknown/")).status).toBe(404)
  })
})
