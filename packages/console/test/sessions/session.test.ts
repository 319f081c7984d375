/**
 * Links, the exchange of their codes, and session tokens over HTTP.
 */

import type { ConsoleModule } from "@tollgate/console"
import { createTollgate, type Module, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { Authenticator, Tollgate as TollgateLayers, toWebHandler } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { Store } from "@tollgate/store"
import { Sessions } from "@tollgate/tokens"
import { Effect, Layer } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { type Call, type Client, makeClient } from "../../../core/test/http/client.ts"
import { grants, secret, tokens } from "../../../core/test/stores.ts"
import { consoleModule } from "../../src/consoleModule.ts"
import { getCode, testConsole } from "./consoles.ts"

type Gate = Tollgate<ConsoleModule>

const gates: Array<Tollgate> = []
const open = async (options: Partial<Omit<TollgateOptions, "modules">> = {}): Promise<{ gate: Gate; call: Client }> => {
  const auth = "authenticate" in options ? {} : { tokens: grants }
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret,
    modules: [consoleModule(testConsole)],
    ...auth,
    ...options
  })
  gates.push(gate)
  return { gate, call: makeClient(gate.handler) }
}
afterEach(async () => {
  for (const gate of gates.splice(0)) await gate.close()
})

const path = "/console/session"
const consumers = "/v1/accounts/acme/key-buckets/production/consumers"

const exchange = (call: Client, code: unknown, options: Call = {}) =>
  call("POST", path, { token: null, body: { code }, ...options })

const signIn = async (gate: Gate, call: Client, options?: Parameters<Gate["createConsoleLink"]>[0]) => {
  const { url } = await gate.createConsoleLink(options)
  return String((await exchange(call, getCode(url))).body.token)
}

describe("createConsoleLink", () => {
  it("returns a URL below publicUrl, and a path without it", async () => {
    const before = Date.now()
    const { url, expiresOn } = await (await open()).gate.createConsoleLink()
    expect(url).toMatch(/^\/console\/#code=tgl_[0-9a-f]{8}[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$/)
    const lifetime = Date.parse(expiresOn) - before
    expect(lifetime).toBeGreaterThanOrEqual(300_000)
    expect(lifetime).toBeLessThan(330_000)
    for (const publicUrl of ["https://example.com/api/dev", "https://example.com/api/dev/"]) {
      const link = await (await open({ publicUrl })).gate.createConsoleLink()
      expect(link.url).toMatch(/^https:\/\/example\.com\/api\/dev\/console\/#code=/)
    }
  })

  it.each<readonly [problem: string, options: unknown]>([
    ["account: must consist of", { account: "a/b" }],
    ["account: must consist of", { account: "" }],
    ['access: must be "read" or "write"', { access: "admin" }],
    ["permissions: excludes access", { access: "read", permissions: ["viewer"] }],
    ["permissions: must be an array", { permissions: "viewer" }],
    ["permissions: nothing needs the permission consumer:read", { permissions: ["consumer:read"] }],
    ["name: must have 1 to 256 characters", { name: "" }],
    ["expiresIn: must be a number of milliseconds", { expiresIn: "1h" }],
    ["expiresIn: must be a number of milliseconds", { expiresIn: 8 * 24 * 60 * 60_000 }],
    ["accounts: unknown option", { accounts: "acme" }],
    ["options: must be an object", "acme"]
  ])("rejects with %s", async (problem, options) => {
    const { gate } = await open()
    await expect(gate.createConsoleLink(options as never)).rejects.toThrow(problem)
  })
})

/** Invalid bodies, with the expected status and the JSON pointer in the response. */
const invalidBodies: ReadonlyArray<
  readonly [label: string, raw: string | Uint8Array, status: number, pointer?: string]
> = [
  ["an empty body", "", 400, "/code"],
  ["no object", "[]", 400, ""],
  ["null", "null", 400, ""],
  ["invalid JSON", "{code", 400, ""],
  ["invalid UTF-8", new Uint8Array([123, 0xc3, 0x28]), 400, ""],
  ["an unknown field", '{"code":"x","account":"*"}', 400, "/account"],
  ["a number", '{"code":5}', 400, "/code"],
  ["a list", '{"code":["x"]}', 400, "/code"],
  ["an object", '{"code":{"toString":"x"}}', 400, "/code"],
  ["__proto__", '{"code":"x","__proto__":{}}', 400],
  ["a long code", JSON.stringify({ code: "x".repeat(1_025) }), 400, "/code"],
  ["a body over the limit", JSON.stringify({ code: "x".repeat(2_000_000) }), 413],
  ["deep nesting", `{"code":${"[".repeat(1_000)}`, 400, ""],
  ["an empty code", '{"code":""}', 401],
  ["a wrong code", '{"code":"abc.def"}', 401],
  ["a code of NUL characters", '{"code":"\\u0000\\u0000"}', 400, "/code"]
]

describe("POST /console/session", () => {
  it("responds with a token that is not cached, once", async () => {
    const { gate, call } = await open()
    const code = getCode((await gate.createConsoleLink()).url)
    const { status, headers, body } = await exchange(call, code)
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"])
    expect(headers.get("content-type")).toBe("application/json")
    expect(body).toEqual({ token: expect.stringMatching(/^tgs_/), expiresOn: expect.any(String) })
    expect(Date.parse(body.expiresOn) - Date.now()).toBeGreaterThan(3_500_000)
    const again = await exchange(call, code)
    expect(again).toMatchObject({
      status: 401,
      body: {
        type: "urn:tollgate:problem:console-code-invalid",
        code: "console-code-invalid",
        detail: expect.stringMatching(/once, within 5 minutes.*ask the operator.*management token/)
      }
    })
    expect(again.headers.get("cache-control")).toBe("no-store")
  })

  it("allows POST only, also under an encoded path", async () => {
    const { gate, call } = await open()
    for (const method of ["GET", "HEAD", "PUT", "DELETE"]) {
      const refused = await call(method, path)
      expect([method, refused.status, refused.headers.get("allow")]).toEqual([method, 405, "POST"])
    }
    const code = getCode((await gate.createConsoleLink()).url)
    expect((await call("POST", "/console/sess%69on", { body: { code } })).status).toBe(404)
    expect((await exchange(call, code)).status).toBe(200)
  })

  it.each([
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "https://evil.example" },
    { origin: "null" }
  ])("refuses a page of another site, which does not use the code up: %s", async (headers) => {
    const { gate, call } = await open()
    const code = getCode((await gate.createConsoleLink()).url)
    expect((await exchange(call, code, { headers })).status).toBe(403)
    expect((await exchange(call, code, { headers: { "sec-fetch-site": "same-origin" } })).status).toBe(200)
  })

  for (const [label, raw, status, pointer] of invalidBodies) {
    it(`rejects ${label}`, async () => {
      const { call } = await open()
      const response = await call("POST", path, { raw, token: null })
      expect(response.status).toBe(status)
      if (pointer !== undefined) expect(response.body.errors[0].pointer).toBe(pointer)
    })
  }
})

describe("a session token", () => {
  it("may do what the link allows, everything by default", async () => {
    const { gate, call } = await open()
    const token = await signIn(gate, call)
    expect((await call("POST", consumers, { token, body: { name: "alice" } })).status).toBe(200)
    expect((await call("GET", "/v1/accounts", { token })).body.data).toMatchObject([{ name: "acme" }])
    const { body } = await call("GET", "/v1/me", { token })
    expect(body).toEqual({ accountName: "*", access: "write", id: expect.stringMatching(/^ses_\w{24}$/) })
  })

  it("is limited to the account of its link", async () => {
    const { gate, call } = await open()
    const token = await signIn(gate, call, { account: "acme" })
    expect((await call("POST", consumers, { token, body: { name: "alice" } })).status).toBe(200)
    expect((await call("GET", "/v1/accounts", { token })).status).toBe(403)
    expect((await call("GET", consumers.replace("acme", "other"), { token })).status).toBe(403)
  })

  it("is limited to reading if its link is", async () => {
    const { gate, call } = await open()
    const token = await signIn(gate, call, { account: "acme", access: "read" })
    expect((await call("GET", consumers, { token })).status).toBe(200)
    expect((await call("POST", consumers, { token, body: { name: "alice" } })).status).toBe(403)
    expect((await call("GET", `${consumers}/alice/keys?key-format=visible`, { token })).status).toBe(403)
  })

  it("has the permissions of its link, and ends when it says", async () => {
    const { gate, call } = await open()
    const { url } = await gate.createConsoleLink({ account: "acme", permissions: ["viewer"], expiresIn: 60_000 })
    const { token, expiresOn } = (await exchange(call, getCode(url))).body
    expect(Date.parse(expiresOn) - Date.now()).toBeLessThanOrEqual(60_000)
    expect((await call("GET", consumers, { token })).status).toBe(200)
    expect(await call("POST", consumers, { token, body: { name: "alice" } })).toMatchObject({
      status: 403,
      body: { permission: "consumers:write" }
    })
  })

  it("names the person in the audit log", async () => {
    const { gate, call } = await open()
    const name = "ann@example.com"
    const token = await signIn(gate, call, { name })
    const { id } = (await call("GET", "/v1/me", { token })).body
    await call("POST", consumers, { token, body: { name: "alice" } })
    await expect
      .poll(async () => (await call("GET", "/v1/accounts/acme/events", { token })).body.data)
      .toContainEqual(expect.objectContaining({ type: "consumer.created", actor: { type: "token", id, name } }))
  })

  it("opens the metrics and a protected description", async () => {
    const { gate, call } = await open({ metrics: true, docs: "protected" })
    const token = await signIn(gate, call)
    for (const protectedPath of ["/metrics", "/v1/openapi.json"]) {
      expect((await call("GET", protectedPath, { token })).status).toBe(200)
    }
  })

  it("is an unknown token to a gate without the console", async () => {
    const store = MemoryStore.open()
    const { gate, call } = await open({ store })
    const token = await signIn(gate, call)
    const other = await createTollgate({ store, secret, tokens: grants })
    gates.push(other)
    const callOther = makeClient(other.handler)
    expect((await callOther("GET", "/v1/me", { token })).status).toBe(401)
    expect((await call("GET", "/v1/me", { token })).status).toBe(200)
  })

  it("leaves the configured tokens as they are, also those that begin like one", async () => {
    const similar = "tgs_a-configured-management-token"
    const { call } = await open({ tokens: [...grants, { token: similar, account: "other" }] })
    expect((await call("GET", "/v1/me", { token: similar })).body.accountName).toBe("other")
    expect((await call("GET", "/v1/me", { token: tokens.reader })).body.access).toBe("read")
    for (const token of [null, "tgs_unknown-token", "unknown-token-of-nobody"]) {
      expect((await call("GET", "/v1/me", { token })).status).toBe(401)
    }
  })

  it("leaves every other request to authenticate, with its context", async () => {
    const seen: Array<unknown> = []
    const { gate, call } = await open({
      authenticate: (request, context) => {
        seen.push([request.headers.get("cookie"), context])
        return request.headers.get("cookie") === "session=1" ? { id: "me", account: "acme", access: "read" } : undefined
      }
    })
    const token = await signIn(gate, call)
    expect((await call("GET", "/v1/me", { token })).body.access).toBe("write")
    expect(seen).toEqual([])
    const request = new Request("http://gate/v1/me", { headers: { cookie: "session=1" } })
    expect(await (await gate.handler(request, "a context")).json()).toMatchObject({ id: "me" })
    expect((await call("GET", "/v1/me", { token: `${token}x` })).status).toBe(401)
    expect(seen).toEqual([
      ["session=1", "a context"],
      [null, undefined]
    ])
  })

  it("is accepted by toWebHandler with the console only", async () => {
    const store = MemoryStore.open()
    const makeServices = <M extends Module>(modules: ReadonlyArray<M>) =>
      Authenticator.layerBearer(grants).pipe(
        Layer.provideMerge(TollgateLayers.layer({ secret, modules })),
        Layer.provideMerge(Layer.succeed(Store, store))
      )
    const services = makeServices([consoleModule(testConsole)])
    const program = Effect.flatMap(Sessions, ({ createLink }) =>
      createLink({ account: "*", access: "read", sessionMs: 60_000 })
    )
    const { code } = await Effect.runPromise(Effect.provide(program, services))
    const [withConsole, without] = [toWebHandler(services), toWebHandler(makeServices([]))]
    const [call, callOther] = [makeClient(withConsole.handler), makeClient(without.handler)]
    const { token } = (await exchange(call, code)).body
    expect((await call("GET", "/v1/me", { token })).body).toMatchObject({ accountName: "*", access: "read" })
    expect((await call("GET", "/console/")).status).toBe(200)
    expect((await callOther("GET", "/v1/me", { token })).status).toBe(401)
    expect((await callOther("GET", "/console/")).status).toBe(404)
    await withConsole.dispose()
    await without.dispose()
  })
})
