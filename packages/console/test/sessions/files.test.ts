/**
 * The page and the files of the console over HTTP.
 */
import { gunzipSync, gzipSync } from "node:zlib"
import type { ConsoleModule } from "@tollgate/console"
import { createTollgate, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { type DeploymentsModule, deployments, memorySourceStore, memoryTarget } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { afterEach, describe, expect, it } from "vitest"
import { acceptsGzip } from "../../../core/src/http/acceptsGzip.ts"
import { type Client, makeClient } from "../../../core/test/http/client.ts"
import { grants, secret } from "../../../core/test/stores.ts"
import { consoleModule } from "../../src/consoleModule.ts"
import { page, script, scriptPath, testConsole } from "./consoles.ts"

const gates: Array<Tollgate> = []
const open = async (
  modules: ReadonlyArray<DeploymentsModule> = [],
  options: Partial<Omit<TollgateOptions, "modules">> = {}
): Promise<{ gate: Tollgate<ConsoleModule>; call: Client }> => {
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret,
    tokens: grants,
    modules: [consoleModule(testConsole), ...modules],
    ...options
  })
  gates.push(gate)
  return { gate, call: makeClient(gate.handler) }
}
afterEach(async () => {
  for (const gate of gates.splice(0)) await gate.close()
})

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
const acceptingGzip = { "accept-encoding": "gzip, deflate, br" }
const files = [
  ["/console/", page, "text/html; charset=utf-8", "no-cache"],
  [`/console/${scriptPath}`, script, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"],
  ["/console/icon.svg", "<svg/>", "image/svg+xml", "no-cache"]
] as const

describe("a file of the console", () => {
  it.each(files)("needs no token, and has a strict policy: %s", async (path, content, contentType, cacheControl) => {
    const { call } = await open()
    const { status, headers, body } = await call("GET", path, { token: null })
    expect([status, body]).toEqual([200, content])
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": contentType,
      "cache-control": cacheControl,
      "content-security-policy": policy,
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "x-content-type-options": "nosniff",
      vary: "Accept-Encoding"
    })
  })

  it.each(files)("is compressed for clients that accept it: %s", async (path, content) => {
    const { gate } = await open()
    const get = (headers: Record<string, string>) => gate.handler(new Request(`http://gate${path}`, { headers }))
    const compressed = await get(acceptingGzip)
    const bytes = Buffer.from(await compressed.arrayBuffer())
    expect(compressed.headers.get("content-encoding")).toBe("gzip")
    expect(compressed.headers.get("vary")).toBe("Accept-Encoding")
    expect(compressed.headers.get("content-length")).toBe(String(bytes.length))
    expect(gunzipSync(bytes).toString()).toBe(content)
    for (const refusing of [{}, { "accept-encoding": "br" }, { "accept-encoding": "gzip;q=0, *" }]) {
      const plain = await get(refusing)
      expect([plain.headers.get("content-encoding"), await plain.text()]).toEqual([null, content])
      expect(plain.headers.get("content-length")).toBe(String(Buffer.byteLength(content)))
    }
  })

  it.each(files)("has an ETag for each encoding, and is 304 while it matches: %s", async (path, content) => {
    const { call } = await open()
    const getETag = async (headers: Record<string, string>) =>
      (await call("GET", path, { headers })).headers.get("etag")
    const [plain, compressed] = [(await getETag({})) ?? "", (await getETag(acceptingGzip)) ?? ""]
    for (const etag of [plain, compressed]) expect(etag).toMatch(/^"[\w-]{22}"$/)
    expect(plain).not.toBe(compressed)
    const request = async (ifNoneMatch: string, headers: Record<string, string> = {}) =>
      call("GET", path, { headers: { ...headers, "if-none-match": ifNoneMatch } })
    const cached = await request(plain)
    expect([cached.status, cached.body]).toEqual([304, ""])
    expect(cached.headers.get("content-security-policy")).toBe(policy)
    expect((await request(compressed, acceptingGzip)).status).toBe(304)
    const other = await request(compressed)
    expect([other.status, other.body]).toEqual([200, content])
  })

  it.each(files)("answers HEAD like GET, and no other method: %s", async (path, content) => {
    const { call } = await open()
    const [get, head] = [await call("GET", path), await call("HEAD", path)]
    expect([head.status, head.body]).toEqual([200, ""])
    for (const name of ["etag", "content-type", "content-length", "content-security-policy"]) {
      expect(head.headers.get(name)).toBe(get.headers.get(name))
    }
    expect(head.headers.get("content-length")).toBe(String(Buffer.byteLength(content)))
    for (const method of ["POST", "PUT", "DELETE"]) {
      const refused = await call(method, path)
      expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"])
    }
  })

  it.each([
    "/console/index.html",
    "/console/assets",
    "/console/assets/",
    `/console/${scriptPath}/`,
    "/console/icon.svg/",
    "/console//",
    "/console/icon%2Esvg",
    "/console/../icon.svg%00",
    "/console/__proto__",
    "/console/constructor",
    "/conso%6Ce/icon.svg"
  ])("is 404 or 400 under a name that is not its own: %s", async (path) => {
    const { call } = await open()
    const { status, headers } = await call("GET", path, { token: null })
    expect([400, 404]).toContain(status)
    expect(headers.get("content-type")).toBe("application/problem+json")
  })
})

describe("/console", () => {
  it.each([
    ["http://gate/console", "http://gate/console/"],
    ["http://gate/console?theme=dark", "http://gate/console/?theme=dark"],
    ["http://gate/api/dev/console", "http://gate/api/dev/console/"],
    ["http://gate/api/dev/console?a=/b/", "http://gate/api/dev/console/?a=/b/"]
  ])("redirects %s to %s, wherever it is mounted", async (url, target) => {
    const { gate } = await open()
    const { pathname, search } = new URL(url)
    const mounted = new Request(`http://gate${pathname.replace("/api/dev", "")}${search}`)
    const { status, headers } = await gate.handler(mounted)
    const location = headers.get("location") ?? ""
    expect([status, location]).toEqual([308, `console/${search}`])
    expect(new URL(location, url).href).toBe(target)
  })

  it("is a path of Tollgate, with everything below it", async () => {
    const { gate } = await open()
    for (const path of ["/console", "/console/", "/console/icon.svg", "/console/session", "/console/missing.js"]) {
      expect([path, gate.matches(path)]).toEqual([path, true])
    }
    for (const path of ["/consoles", "/v1/console", "/my/console/"]) expect(gate.matches(path)).toBe(false)
  })

  it.each(["/console", "/console/", `/console/${scriptPath}`, "/console/session"])(
    "is 404 for any method without the module: %s",
    async (path) => {
      const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants })
      gates.push(gate)
      const call = makeClient(gate.handler)
      for (const method of ["GET", "HEAD", "POST"]) {
        const response = await call(method, path)
        expect([method, response.status, response.headers.get("allow")]).toEqual([method, 404, null])
      }
      expect(gate.matches(path)).toBe(false)
    }
  )

  it.each(["https://sites.example", "https://{name}.sites.example"])("is not on the host of %s", async (sitesUrl) => {
    const { gate } = await open([deployments({ sources: memorySourceStore(), target: memoryTarget(), sitesUrl })], {
      publicUrl: "https://api.example"
    })
    const host = new URL(sitesUrl.replace("{name}", "shop")).host
    for (const path of ["/console", "/console/", `/console/${scriptPath}`]) {
      expect((await gate.handler(new Request(`https://${host}${path}`))).status).toBe(404)
    }
    const { url } = await gate.createConsoleLink()
    const body = JSON.stringify({ code: url.split("#code=")[1] })
    const refused = await gate.handler(new Request(`https://${host}/console/session`, { method: "POST", body }))
    expect([404, 405]).toContain(refused.status)
    const accepted = await gate.handler(new Request("https://api.example/console/session", { method: "POST", body }))
    expect(accepted.status).toBe(200)
  })

  it("is not in the OpenAPI description", async () => {
    const { call } = await open()
    const { body } = await call("GET", "/v1/openapi.json")
    expect(Object.keys(body.paths).filter((path) => path.includes("console"))).toEqual([])
  })
})

describe("consoleModule", () => {
  const file = { path: "a.js", contentType: "text/javascript", isImmutable: false, gzip: gzipSync("") }
  const index = { ...file, path: "" }

  it.each<readonly [problem: string, files: unknown]>([
    ["files: must be an array", undefined],
    ["files: must be an array", "a.js"],
    ['files: must contain the page, whose path is ""', [file]],
    ["files[2].path: duplicate path", [index, file, file]],
    ["files[1].path: must be a path", [index, { ...file, path: "session" }]],
    ["files[1].path: must be a path", [index, { ...file, path: "/a.js" }]],
    ["files[1].path: must be a path", [index, { ...file, path: "a/../b.js" }]],
    ["files[1].path: must be a path", [index, { ...file, path: "a%2Fb.js" }]],
    ["files[1].contentType: must be a media type", [index, { ...file, contentType: "text/css\r\nx: y" }]],
    ["files[1].isImmutable: must be true or false", [index, { ...file, isImmutable: 1 }]],
    ["files[1].gzip: must be a Uint8Array with gzip content", [index, { ...file, gzip: Buffer.from("text") }]],
    ["files[1].gzip: must be a Uint8Array with gzip content", [index, { ...file, gzip: "text" }]]
  ])("is rejected with %s", (problem, files) => {
    expect(() => consoleModule({ files } as never)).toThrow(problem)
  })
})

it.each<readonly [header: string | undefined, isAccepted: boolean]>([
  [undefined, false],
  ["", false],
  ["gzip", true],
  ["GZIP", true],
  ["x-gzip", true],
  ["br, gzip;q=0.1", true],
  ["gzip ; q=0.001", true],
  ["*", true],
  ["br;q=1, *;q=0.5", true],
  ["gzip;q=0", false],
  ["gzip;q=0.000", false],
  ["gzip;q=0, *", false],
  ["*;q=0", false],
  ["*;q=0, gzip", true],
  ["identity", false],
  ["br, deflate", false],
  ["gzipped", false],
  ["gzip;q=nonsense", false]
])("Accept-Encoding %s: gzip is accepted is %s", (header, isAccepted) => {
  expect(acceptsGzip(header)).toBe(isAccepted)
})
