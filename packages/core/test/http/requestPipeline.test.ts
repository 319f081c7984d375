import { Validator } from "@seriousme/openapi-schema-validator"
import { adminConsole } from "@tollgate/console"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { StoreState } from "@tollgate/store-testkit"
import { Effect, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { descriptions, withAllModules } from "../allModules.ts"
import { grants, secret, tokens } from "../stores.ts"
import { type Call, type Client, makeClient } from "./client.ts"

const watched = StoreState.watch(MemoryStore.open())
const stateHash = () => Effect.runPromise(watched.state.hash)

/** Expects that a request leaves the state as it is. Background work may write meanwhile: a request that writes does each time. */
const expectNoWrite = async (send: () => Promise<void>): Promise<void> => {
  for (let attempt = 0; attempt < 3; attempt++) {
    const before = await stateHash()
    await send()
    if ((await stateHash()) === before) return
  }
  throw new Error("The request wrote something")
}
const consumers = "/v1/accounts/acme/key-buckets/edge/consumers"

let gate: Tollgate
let call: Client
beforeAll(async () => {
  gate = await createTollgate({
    store: watched.store,
    secret,
    tokens: grants,
    bodyLimit: 100_000,
    publicUrl: "http://gate",
    modules: [...withAllModules().modules, adminConsole()]
  })
  call = makeClient(gate.handler)
  await call("POST", consumers, { body: { name: "alice", tags: { team: "blue" } } })
})
afterAll(() => gate.close())

const deep = (depth: number) => `{"name":"x","metadata":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`
const bytes = (...values: ReadonlyArray<number>) =>
  new Uint8Array([...Buffer.from('{"name":"x","description":"'), ...values, 34, 125])

/** Invalid bodies for creating a consumer, with the expected status and the JSON pointer in the response. */
const bodies: ReadonlyArray<readonly [label: string, raw: string | Uint8Array, status: number, pointer?: string]> = [
  ["an empty body", "", 400, "/name"],
  ["invalid JSON", "{bad", 400, ""],
  ["two values", "{}{}", 400, ""],
  ["a list", "[]", 400, ""],
  ["null", "null", 400, ""],
  ["a string", '"alice"', 400, ""],
  ["an unknown field", '{"name":"x","colour":"red"}', 400, "/colour"],
  ["a mistyped field", '{"name":"x","apiKeys":[{"expireOn":"2030-01-01T00:00:00Z"}]}', 400, "/apiKeys/0/expireOn"],
  ["a read-only field", '{"name":"x","id":"csmr_1"}', 400, "/id"],
  ["a name in capitals", '{"name":"Alice"}', 400, "/name"],
  ["an empty name", '{"name":""}', 400, "/name"],
  ["a long name", `{"name":"${"a".repeat(129)}"}`, 400, "/name"],
  ["a name with a line break", '{"name":"alice\\n"}', 400, "/name"],
  ["a name that is a number", '{"name":5}', 400, "/name"],
  ["a NUL character", '{"name":"x","description":"a\\u0000b"}', 400, "/description"],
  ["half a surrogate pair", '{"name":"x","description":"\\ud800"}', 400, "/description"],
  ["half a surrogate pair in a name", '{"name":"x","metadata":{"\\udc00":1}}', 400],
  ["invalid UTF-8", bytes(0xc3, 0x28), 400, ""],
  ["an overlong encoding", bytes(0xc0, 0x80), 400, ""],
  ["a number that is too large", '{"name":"x","metadata":{"n":1e999}}', 400, "/metadata/n"],
  ["__proto__", '{"name":"x","metadata":{"a":{"__proto__":{}}}}', 400, "/metadata/a/__proto__"],
  ["nesting that is too deep", deep(65), 400, ""],
  ["nesting that would overflow the stack", "[".repeat(50_000), 400, ""],
  ["51 tags", `{"name":"x","tags":{${Array.from({ length: 51 }, (_, i) => `"t${i}":1`).join()}}}`, 400, "/tags"],
  ["a tag with a bad name", '{"name":"x","tags":{"a b":1}}', 400],
  ["a tag with a long value", `{"name":"x","tags":{"a":"${"x".repeat(257)}"}}`, 400],
  ["a tag that is a list", '{"name":"x","tags":{"a":[1]}}', 400],
  ["metadata with 1,001 lists", `{"name":"x","metadata":{"a":[${"[],".repeat(999)}[]]}}`, 400, "/metadata"],
  ["metadata over 64 KiB", `{"name":"x","metadata":{"a":"${"x".repeat(65_536)}"}}`, 400, "/metadata"],
  ["metadata that is a list", '{"name":"x","metadata":[]}', 400, "/metadata"],
  ["a manager without @", '{"name":"x","managers":["boss"]}', 400],
  ["a manager without sub", '{"name":"x","managers":[{"email":"a@b.c"}]}', 400],
  ["managers of both kinds", '{"name":"x","managers":["a@b.c",{"sub":"1"}]}', 400],
  ["a body over the limit", `{"name":"x","description":"${"x".repeat(100_000)}"}`, 413],
  ["a date without offset", '{"name":"x","apiKeys":[{"expiresOn":"2030-01-01T00:00:00"}]}', 400, "/apiKeys/0/expiresOn"]
]

const dates = [
  "2026",
  "1",
  "Jan 2 2026",
  "2026-01-02",
  "2026-02-30T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-01-01T24:00:00Z",
  "2026-01-01T00:60:00Z",
  "2026-01-01 00:00:00Z",
  "2023-02-29T00:00:00Z",
  "",
  "2026-01-01T00:00:00+25:00",
  "tomorrow",
  "9999-12-31T23:59:59-23:59",
  "0000-01-01T00:00:00+23:59"
]

describe("an invalid body", () => {
  it.each(bodies.map(([label, ...rest]) => [label, rest] as const))(
    "is rejected: %s",
    async (_, [raw, status, pointer]) => {
      await expectNoWrite(async () => {
        const { body, headers, status: responseStatus } = await call("POST", consumers, { raw })
        expect(responseStatus).toBe(status)
        expect(headers.get("content-type")).toBe("application/problem+json")
        expect(body).toMatchObject({
          status,
          title: expect.any(String),
          detail: expect.any(String),
          instance: headers.get("x-request-id")
        })
        if (pointer !== undefined)
          expect(body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer)
      })
    }
  )

  it.each(dates)("is rejected for the date %j", async (expiresOn) => {
    expect((await call("POST", `${consumers}/alice/keys`, { body: { expiresOn } })).status).toBe(400)
  })

  it("is 413 when it is too long and sent in chunks of unknown length", async () => {
    const chunk = new TextEncoder().encode("x".repeat(10_000))
    let sent = 0
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent++
        controller.enqueue(chunk)
      }
    })
    expect((await call("POST", consumers, { raw: endless })).status).toBe(413)
    expect(sent).toBeLessThan(20)
  })

  it("is 415 when it is compressed", async () => {
    const response = await call("POST", consumers, { raw: "x", headers: { "content-encoding": "gzip" } })
    expect(response).toMatchObject({ status: 415, body: { type: "urn:tollgate:problem:unsupported-encoding" } })
  })
})

describe("a body with very many errors", () => {
  it.each([
    ["managers", { name: "x", managers: Array.from({ length: 20_000 }, () => 1) }],
    ["keys", { name: "x", apiKeys: Array.from({ length: 20_000 }, () => 1) }],
    ["tags", { name: "x", tags: Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`t${i}`, i])) }],
    ["unknown fields", Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, i]))]
  ])("is rejected at the first error, with a short response: %s", async (_, body) => {
    const { status, body: problem } = await call("POST", consumers, { body })
    expect(status).toBe(400)
    expect(JSON.stringify(problem).length).toBeLessThan(2_000)
  })
})

describe("a valid body", () => {
  it("is parsed as JSON for any content type, up to the maximum nesting depth", async () => {
    for (const [index, type] of ["text/plain", "application/x-www-form-urlencoded", "nonsense"].entries()) {
      const created = await call("POST", consumers, {
        body: { name: `typed-${index}` },
        headers: { "content-type": type }
      })
      expect(created.status).toBe(200)
    }
    expect((await call("POST", consumers, { raw: deep(62) })).status).toBe(200)
    expect((await call("POST", `${consumers}?unknown=1&limit=x`, { body: { name: "ignored" } })).status).toBe(200)
    expect((await call("GET", `${consumers}/alice?unknown=1`)).status).toBe(200)
  })
})

describe("a path whose fixed parts are percent-encoded", () => {
  it("is 404, so that an encoded path cannot bypass a guard in front of the HTTP API", async () => {
    for (const path of ["/%761/metering", "/v1/%6detering", "/%68ealthz"]) {
      expect((await call("GET", path)).status).toBe(404)
      expect(gate.matches(path)).toBe(false)
    }
    expect((await call("GET", `${consumers}/%61lice`)).status).toBe(200)
  })
})

describe("a cross-site request", () => {
  const cookie = { cookie: "session=1", "content-type": "text/plain" }
  const body = { name: "mallory", apiKeys: [{ key: "chosen-by-the-attacker-1" }] }
  const crossSite: ReadonlyArray<Record<string, string>> = [
    { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
    { "sec-fetch-site": "same-site", origin: "https://sites.gate" },
    { origin: "https://evil.example", host: "gate" },
    { origin: "null", host: "gate" }
  ]
  const sameOrigin: ReadonlyArray<Record<string, string>> = [
    { "sec-fetch-site": "same-origin", origin: "http://gate" },
    { "sec-fetch-site": "none" },
    { origin: "http://gate", host: "gate" },
    {}
  ]

  it("is 403 when it would change data with the user's cookie", async () => {
    const authenticate = () => ({ id: "user", account: "acme", access: "write" as const })
    const gate = await createTollgate({ store: MemoryStore.open(), secret, authenticate })
    const call = makeClient(gate.handler)
    const path = "/v1/accounts/acme/key-buckets/b/consumers"
    for (const headers of crossSite) {
      for (const [method, target] of [
        ["POST", path],
        ["PATCH", `${path}/alice`],
        ["DELETE", `${path}/alice`],
        ["POST", "/v1/metering"]
      ] as const) {
        // A browser also sends credentials that it has remembered.
        for (const remembered of [{}, { authorization: "Basic dXNlcjpwYXNz" }, { authorization: "Negotiate YII=" }]) {
          const sent = { ...cookie, ...headers, ...remembered }
          const response = await call(method, target, { body, token: null, headers: sent })
          expect(response).toMatchObject({ status: 403, body: { type: "urn:tollgate:problem:forbidden" } })
          expect(response.body.detail).toMatch(/Authorization header/)
        }
      }
      expect((await call("GET", path, { token: null, headers: { ...cookie, ...headers } })).status).toBe(200)
      // A page cannot send a Bearer token on a cross-site request, so the request comes from a program.
      const program = await call("POST", "/v1/metering", { token: "any", headers })
      expect(program.status).toBe(200)
    }
    expect((await gate.account("acme").keyBucket("b").consumers.list()).total).toBe(0)
    for (const [index, headers] of sameOrigin.entries()) {
      const create = { body: { name: `own-${index}` }, token: null, headers: { ...cookie, ...headers } }
      expect((await call("POST", path, create)).status).toBe(200)
    }
    await gate.close()
  })
})

const parameters: ReadonlyArray<readonly [query: string, parameter: string]> = [
  ["limit=0", "limit"],
  ["limit=-1", "limit"],
  ["limit=1.5", "limit"],
  ["limit=x", "limit"],
  ["limit=", "limit"],
  ["limit=1e2", "limit"],
  ["limit=0x10", "limit"],
  ["limit=007", "limit"],
  ["limit=1&limit=2", "limit"],
  ["offset=-1", "offset"],
  ["offset=1.5", "offset"],
  ["offset=x", "offset"],
  ["offset=-0", "offset"],
  ["offset=00", "offset"],
  ["offset=01", "offset"],
  ["include-api-keys=1", "include-api-keys"],
  ["include-api-keys=yes", "include-api-keys"],
  ["key-format=all", "key-format"],
  ["manager=x", "manager"],
  ["manager-email=invalid", "manager-email"],
  ["tag=x", "tag"],
  ["tag.=x", "tag."],
  ["Limit=1", "Limit"],
  ["tag.a=1&tag.a=2", "tag.a"],
  ["offset=4294967296", "offset"]
]

describe("an invalid parameter", () => {
  it.each(parameters)("is named in the response: %s", async (query, parameter) => {
    const { status, body } = await call("GET", `${consumers}?${query}`)
    expect(status).toBe(400)
    expect(body.errors).toContainEqual({ parameter, detail: expect.any(String) })
  })
})

it("rejects more tags than a consumer can have", async () => {
  const query = Array.from({ length: 51 }, (_, index) => `tag.t${index}=1`).join("&")
  expect((await call("GET", `${consumers}?${query}`)).status).toBe(400)
})

describe("invalid metering input", () => {
  const plan = { label: "P", planExternalId: "p", meters: { requests: { max: 1 } } }
  const details = { status: "active", type: "periodic", renewalStrategy: "monthly", region: "us-east1" }
  const names = { customerKey: "alice", subscriptionExternalId: "s", customerExternalId: "c" }

  it("is rejected with a problem, and nothing is written", async () => {
    const bucket = `/v1/metering/${(await call("POST", "/v1/metering")).body.id}`
    const { id } = (await call("POST", `${bucket}/plans`, { body: plan })).body
    const subscription = { planIds: [id], planExternalIds: ["p"], ...details, ...names }
    const subscriptions = `${bucket}/subscriptions`
    const subscriptionPath = `${subscriptions}/${(await call("POST", subscriptions, { body: subscription })).body.id}`
    await call("POST", `${subscriptionPath}/quotas/consume`, { body: { meters: { requests: 1 } } })
    const other = { ...subscription, subscriptionExternalId: "other" }
    const invalidRequests: ReadonlyArray<readonly [method: string, path: string, body: unknown, status: number]> = [
      ["POST", "/v1/metering", { accountName: "a b" }, 400],
      ["POST", "/v1/metering", { accountName: "other" }, 403],
      ["POST", "/v1/metering", { colour: "red" }, 400],
      ["POST", `${bucket}/plans`, {}, 400],
      ["POST", `${bucket}/plans`, plan, 409],
      ["POST", `${bucket}/plans`, { ...plan, planExternalId: "q", meters: {} }, 400],
      ["POST", `${bucket}/plans`, { ...plan, planExternalId: "q", meters: { requests: { max: -1 } } }, 400],
      ["POST", `${bucket}/plans`, { ...plan, planExternalId: "q", trialDays: 3651 }, 400],
      ["POST", `${bucket}/plans`, { ...plan, planExternalId: "q", hasSubscriptions: true }, 400],
      ["PATCH", `${bucket}/plans/${id}`, { trialEndStatus: "ended" }, 400],
      ["PATCH", `${bucket}/plans/plan_unknown`, {}, 404],
      ["DELETE", `${bucket}/plans/${id}`, undefined, 409],
      ["DELETE", `${bucket}/plans/${id}?force=true`, undefined, 400],
      ["POST", subscriptions, subscription, 409],
      ["POST", subscriptions, { ...other, planIds: [] }, 400],
      ["POST", subscriptions, { ...other, planIds: [id, id] }, 400],
      ["POST", subscriptions, { ...other, planExternalIds: ["unknown"] }, 422],
      ["POST", subscriptions, { ...other, planIds: ["plan_unknown"] }, 422],
      ["POST", subscriptions, { ...other, status: "paused" }, 400],
      ["POST", subscriptions, { ...other, quotaResetAnchor: "2026-02-30T00:00:00Z" }, 400],
      ["PATCH", subscriptionPath, { prorate: 1.01 }, 400],
      ["PATCH", subscriptionPath, { planExternalIds: ["unknown"] }, 422],
      ["PATCH", subscriptionPath, { customerKey: "bob" }, 400],
      ["DELETE", `${subscriptionPath}?tag.x=1`, undefined, 400],
      ["POST", `${subscriptionPath}/quotas/consume`, { meters: {} }, 400],
      ["POST", `${subscriptionPath}/quotas/consume`, { meters: { requests: 0.5 } }, 400],
      ["POST", `${subscriptionPath}/quotas/consume`, { meters: { unknown: 1 } }, 422],
      ["POST", `${subscriptionPath}/quotas/consume`, { meters: { requests: 1 } }, 429]
    ]
    for (const [method, path, body, status] of invalidRequests) {
      await expectNoWrite(async () => {
        const response = await call(method, path, body === undefined ? {} : { body })
        expect([method, path, body, response.status]).toEqual([method, path, body, status])
        expect(response.body).toMatchObject({
          status,
          type: expect.stringMatching(/^urn:tollgate:problem:/),
          detail: expect.any(String)
        })
      })
    }
  })
})

describe("paths", () => {
  it("are equivalent with a trailing slash", async () => {
    expect((await call("GET", `${consumers}/`)).status).toBe(200)
    expect((await call("GET", `${consumers}/alice/`)).body.name).toBe("alice")
  })

  it("are matched exactly: case-sensitive, without double slashes, hosts or semicolons", async () => {
    const unmatchedPaths = [
      "/HEALTHZ",
      "//healthz",
      "/healthz//",
      "//evil/healthz",
      "//",
      "///",
      "//[/healthz",
      "//a:999999/healthz",
      "/healthz;x=1",
      `/${consumers}`,
      `${consumers}/alice;bob`
    ]
    for (const path of unmatchedPaths) {
      const response = await gate.handler(
        new Request(`http://gate${path}`, { headers: { authorization: `Bearer ${tokens.writer}` } })
      )
      expect([path, response.status]).toEqual([path, 404])
      expect(response.headers.get("content-type")).toBe("application/problem+json")
    }
    for (const query of ["tag.a=%00", "tag.a=%E0%A4"])
      expect((await call("GET", `${consumers}?${query}`)).status).toBe(400)
  })

  it("are 404 if unknown, and 405 with Allow for other methods", async () => {
    for (const path of ["/", "/v1", "/v2/metering", `${consumers}/alice/unknown`, "/v1/accounts/acme/unknown"]) {
      expect(await call("GET", path)).toMatchObject({ status: 404, body: { type: "urn:tollgate:problem:not-found" } })
    }
    const wrong = await call("PUT", consumers)
    expect(wrong).toMatchObject({ status: 405, body: { type: "urn:tollgate:problem:method-not-allowed" } })
    expect(wrong.headers.get("allow")).toBe("GET, HEAD, POST")
    expect((await call("GET", `${consumers}/alice/roll-key`)).headers.get("allow")).toBe("POST")
    expect((await call("POST", "/v1/openapi.json")).headers.get("allow")).toBe("GET, HEAD")
  })

  it("are 400 with invalid percent-encoding or invalid names", async () => {
    expect((await call("GET", "/v1/accounts/%E0%A4%A/key-buckets/b/consumers")).status).toBe(400)
    for (const [query, parameter] of [
      ["tag.p=%zz", "tag.p"],
      ["limit=1&tag.p=%00", "tag.p"],
      ["%ff=1", "query"]
    ]) {
      const response = await call("GET", `${consumers}?${query}`)
      expect(response).toMatchObject({ status: 400, body: { errors: [{ parameter }] } })
    }
    for (const bucket of ["-b", ".b", "b%20c", "b%2Fc", "x".repeat(129)]) {
      const response = await call("GET", `/v1/accounts/acme/key-buckets/${bucket}/consumers`)
      expect(response).toMatchObject({ status: 400, body: { errors: [{ parameter: "bucketName" }] } })
    }
  })
})

describe("a path parameter of any length", () => {
  it("gets a problem that its operation declares", async () => {
    const operations = descriptions.filter(({ path, payload }) => path.includes(":") && payload === undefined)
    for (const { method, path, errors } of operations) {
      const isDeclared = Schema.is(Schema.toEncoded(Schema.Union(errors)))
      for (const [param] of path.matchAll(/:\w+/g)) {
        const url = path.replace(param, "a".repeat(5_000)).replace(":accountName", "acme").replace(/:\w+/g, "b")
        const headers = { authorization: `Bearer ${tokens.writer}` }
        const response = await gate.handler(new Request(`http://gate${url}`, { method, headers }))
        const body: unknown = await response.json()
        expect(body, `${method} ${path} with ${param}`).not.toHaveProperty("code", "not-found")
        expect(isDeclared(body), `${method} ${path} with ${param}`).toBe(true)
      }
    }
  })

  it("gets the problem of an item that does not exist", async () => {
    const response = await call("GET", `${consumers}/${"a".repeat(4_097)}`)
    expect(response).toMatchObject({ status: 404, body: { code: "consumer-not-found" } })
  })
})

const operations: ReadonlyArray<readonly [method: string, path: string, call?: Call]> = [
  ["GET", ""],
  ["POST", "", { body: { name: "x" } }],
  ["GET", "/alice"],
  ["PATCH", "/alice", { body: {} }],
  ["DELETE", "/alice"],
  ["POST", "/alice/roll-key", { body: { expiresOn: "2030-01-01T00:00:00Z" } }],
  ["GET", "/alice/keys"],
  ["POST", "/alice/keys", { body: {} }],
  ["POST", "/alice/keys/$bulk", { body: [{}] }],
  ["POST", "/alice/keys/$import", { body: { keys: [{ hash: "0".repeat(64), algorithm: "sha256" }] } }],
  ["GET", "/alice/keys/key_1"],
  ["GET", "/../keys/key_1"],
  ["PATCH", "/alice/keys/key_1", { body: {} }],
  ["DELETE", "/alice/keys/key_1"]
]

describe("access", () => {
  it.each(operations.map(([method, path, options]) => [method, path, options ?? {}] as const))(
    "is denied without a credential, for another account, and for writes with read access: %s %s",
    async (method, path, options) => {
      const before = await stateHash()
      const callAs = async (token: string | null, headers: Record<string, string> = {}) =>
        call(method, `${consumers}${path}`, { ...options, token, headers })
      const missing = await callAs(null)
      expect(missing).toMatchObject({ status: 401, body: { type: "urn:tollgate:problem:unauthorized" } })
      expect(missing.headers.get("www-authenticate")).toBe("Bearer")
      for (const authorization of [
        "Bearer",
        "Bearer ",
        "Basic abc",
        "Bearer wrong-token-of-some-length",
        tokens.writer
      ]) {
        expect((await callAs(null, { authorization })).status).toBe(401)
      }
      expect((await callAs(tokens.otherAccount)).status).toBe(403)
      if (method !== "GET") expect((await callAs(tokens.reader)).status).toBe(403)
      expect(await stateHash()).toBe(before)
    }
  )

  it("is public for the description, the docs page and the health checks", async () => {
    for (const path of ["/v1/openapi.json", "/v1/docs", "/healthz", "/readyz"]) {
      expect((await call("GET", path, { token: null })).status).toBe(200)
    }
  })

  it("covers every account with a credential for all accounts", async () => {
    expect((await call("GET", consumers, { token: tokens.admin })).status).toBe(200)
    expect((await call("GET", consumers.replace("acme", "any-account"), { token: tokens.admin })).status).toBe(200)
  })

  it("is denied without configuration, and decided by authenticate if it is set", async () => {
    const closed = await createTollgate({ store: MemoryStore.open(), secret })
    expect((await makeClient(closed.handler)("GET", consumers)).status).toBe(401)
    await closed.close()
    const customGate = await createTollgate({
      store: MemoryStore.open(),
      secret,
      authenticate: async (request) =>
        request.headers.get("x-user") === "root" ? { id: "root", account: "*", access: "write" } : undefined
    })
    expect((await makeClient(customGate.handler)("GET", consumers)).status).toBe(401)
    expect((await makeClient(customGate.handler)("GET", consumers, { headers: { "x-user": "root" } })).status).toBe(200)
    await customGate.close()
  })

  it("can be decided by an authenticate that reads a clone of the body", async () => {
    const customGate = await createTollgate({
      store: MemoryStore.open(),
      secret,
      authenticate: async (request) =>
        (await request.clone().text()).includes("alice") ? { id: "me", account: "acme", access: "write" } : undefined
    })
    const send = makeClient(customGate.handler)
    expect(await send("POST", consumers, { body: { name: "alice" } })).toMatchObject({ status: 200 })
    expect(await send("POST", consumers, { body: { name: "bob" } })).toMatchObject({ status: 401 })
    await customGate.close()
  })
})

describe("every response", () => {
  it("has a request ID: the client's if it is valid", async () => {
    const echoed = await call("GET", consumers, { headers: { "x-request-id": "abc-123" } })
    expect(echoed.headers.get("x-request-id")).toBe("abc-123")
    for (const invalid of ["x".repeat(129), "white space"]) {
      const generated = await call("GET", consumers, { headers: { "x-request-id": invalid } })
      expect(generated.headers.get("x-request-id")).toMatch(/^[0-9A-Za-z]{22}$/)
    }
  })

  it("must not be cached or sniffed", async () => {
    const { headers } = await call("GET", consumers)
    expect(headers.get("cache-control")).toBe("no-store")
    expect(headers.get("x-content-type-options")).toBe("nosniff")
  })
})

describe("the OpenAPI description", () => {
  it("is valid and complete", async () => {
    const { body } = await call("GET", "/v1/openapi.json", { token: null })
    const result = await new Validator().validate(structuredClone(body))
    expect(result.errors).toBeUndefined()
    expect(result.valid).toBe(true)
    for (const item of Object.values<Record<string, { responses: Record<string, { headers: object }> }>>(body.paths)) {
      for (const [status, { headers }] of Object.values(item).flatMap(({ responses }) => Object.entries(responses))) {
        expect(headers).toHaveProperty("X-Request-Id")
        if (status === "401") expect(headers).toHaveProperty("WWW-Authenticate")
        if (status === "429" || status === "503") expect(headers).toHaveProperty("Retry-After")
      }
    }
    const prefix = "/v1/accounts/{accountName}/key-buckets/{bucketName}"
    const methodsByPath = Object.fromEntries(
      Object.entries<object>(body.paths).map(([path, item]) => [path.replace(prefix, ""), Object.keys(item).sort()])
    )
    expect(methodsByPath).toEqual({
      "/v1/me": ["get"],
      "/v1/accounts": ["get"],
      "/v1/accounts/{accountName}": ["get"],
      "/v1/accounts/{accountName}/events": ["get"],
      "/v1/accounts/{accountName}/search": ["get"],
      "/v1/accounts/{accountName}/key-buckets": ["get"],
      "/consumers": ["get", "post"],
      "/consumers/{consumerName}": ["delete", "get", "patch"],
      "/consumers/{consumerName}/roll-key": ["post"],
      "/consumers/{consumerName}/keys": ["get", "post"],
      "/consumers/{consumerName}/keys/$bulk": ["post"],
      "/consumers/{consumerName}/keys/$import": ["post"],
      "/consumers/{consumerName}/keys/{keyId}": ["delete", "get", "patch"],
      "/keys/{keyId}": ["get"],
      "/$verify": ["post"],
      "/authorize": ["post"],
      "/decisions": ["get"],
      "/consumers/{consumerName}/decisions": ["get"],
      "/outcomes": ["get"],
      "/consumers/{consumerName}/portal-sessions": ["delete", "get", "post"],
      "/consumers/{consumerName}/portal-sessions/{sessionId}": ["delete"],
      "/consumers/{consumerName}/portal": ["get"],
      "/consumers/{consumerName}/portal/keys": ["get", "post"],
      "/consumers/{consumerName}/portal/keys/{keyId}": ["delete", "patch"],
      "/consumers/{consumerName}/portal/keys/{keyId}/roll": ["post"],
      "/consumers/{consumerName}/portal/quotas": ["get"],
      "/consumers/{consumerName}/portal/usage": ["get"],
      "/consumers/{consumerName}/portal/plan": ["get", "post"],
      "/consumers/{consumerName}/portal/refusals": ["get"],
      "/v1/accounts/{accountName}/tokens": ["get", "post"],
      "/v1/accounts/{accountName}/tokens/{tokenId}": ["delete", "get", "patch"],
      "/v1/accounts/{accountName}/sessions": ["delete", "get"],
      "/v1/accounts/{accountName}/sessions/{sessionId}": ["delete"],
      "/v1/sessions": ["delete", "get"],
      "/v1/sessions/{sessionId}": ["delete"],
      "/v1/accounts/{accountName}/webhooks": ["get", "post"],
      "/v1/accounts/{accountName}/webhooks/{webhookId}": ["delete", "get", "patch"],
      "/v1/accounts/{accountName}/webhooks/{webhookId}/deliveries": ["get"],
      "/v1/accounts/{accountName}/webhooks/{webhookId}/deliveries/{deliveryId}/retry": ["post"],
      "/v1/accounts/{accountName}/webhooks/{webhookId}/rotate-secret": ["post"],
      "/v1/accounts/{accountName}/webhooks/{webhookId}/test": ["post"],
      "/v1/metering": ["get", "post"],
      "/v1/metering/{bucketId}": ["delete", "get"],
      "/v1/metering/{bucketId}/plans": ["get", "post", "put"],
      "/v1/metering/{bucketId}/plans/{planId}": ["delete", "get", "patch"],
      "/v1/metering/{bucketId}/subscriptions": ["get", "post"],
      "/v1/metering/{bucketId}/subscriptions/{subscriptionId}": ["delete", "get", "patch"],
      "/v1/metering/{bucketId}/subscriptions/{subscriptionId}/quotas": ["get"],
      "/v1/metering/{bucketId}/subscriptions/{subscriptionId}/quotas/consume": ["post"],
      "/v1/metering/{bucketId}/subscriptions/{subscriptionId}/quotas/reservations/{reservationId}": ["delete"],
      "/v1/metering/{bucketId}/subscriptions/{subscriptionId}/quotas/reservations/{reservationId}/settle": ["post"],
      "/v1/metering/{bucketId}/subscriptions/{subscriptionId}/quotas/reserve": ["post"],
      "/v1/metering/{bucketId}/subscriptions/{subscriptionId}/usage": ["get"],
      "/v1/metering/{bucketId}/customers": ["get"],
      "/v1/metering/{bucketId}/customers/{customerKey}": ["get"],
      "/v1/metering/{bucketId}/customers/{customerKey}/adjust": ["post"],
      "/v1/metering/{bucketId}/customers/{customerKey}/alerts": ["get", "post"],
      "/v1/metering/{bucketId}/customers/{customerKey}/alerts/{alertId}": ["delete", "get"],
      "/v1/metering/{bucketId}/customers/{customerKey}/cancel": ["post"],
      "/v1/metering/{bucketId}/customers/{customerKey}/consume": ["post"],
      "/v1/metering/{bucketId}/customers/{customerKey}/grants": ["get", "post"],
      "/v1/metering/{bucketId}/customers/{customerKey}/grants/{grantId}": ["get"],
      "/v1/metering/{bucketId}/customers/{customerKey}/grants/{grantId}/void": ["post"],
      "/v1/metering/{bucketId}/customers/{customerKey}/pending-change": ["delete"],
      "/v1/metering/{bucketId}/customers/{customerKey}/plan": ["post"],
      "/v1/metering/{bucketId}/customers/{customerKey}/reservations/{reservationId}/settle": ["post"],
      "/v1/metering/{bucketId}/customers/{customerKey}/reserve": ["post"],
      "/v1/metering/{bucketId}/customers/{customerKey}/usage": ["get"],
      "/v1/metering/{bucketId}/usage": ["get", "post"],
      "/v1/metering/{bucketId}/usage/events": ["post"],
      "/v1/metering/{bucketId}/usage/export": ["get"],
      "/v1/metering/{bucketId}/usage/top": ["get"],
      "/v1/accounts/{accountName}/projects": ["get"],
      "/v1/accounts/{accountName}/projects/{projectName}/deployment-status/{statusId}": ["get"],
      "/v1/accounts/{accountName}/projects/{projectName}/deployment-status/{statusId}/log": ["get"],
      "/v1/accounts/{accountName}/projects/{projectName}/deployments": ["get"],
      "/v1/deployments/sources": ["post"],
      "/v1/deployments/{deploymentName}": ["delete", "get"],
      "/v1/deployments/{deploymentName}/versions": ["get"],
      "/v1/deployments/{deploymentName}/deploy": ["post"],
      "/v1/deployments/{deploymentName}/rollback": ["post"],
      "/v1/deployments/{deploymentName}/promote": ["post"],
      "/v1/uploads/{file}": ["put"],
      "/healthz": ["get"],
      "/readyz": ["get"]
    })
    const upload = body.paths["/v1/uploads/{file}"].put
    expect(Object.keys(upload.requestBody.content)).toEqual(["application/gzip"])
    expect(upload.security ?? []).toEqual([])
    expect(Object.keys(upload.responses)).toEqual(
      expect.arrayContaining(["200", "400", "403", "408", "409", "413", "415", "503"])
    )
    const list = body.paths[`${prefix}/consumers`].get
    const parametersByName = Object.fromEntries(
      list.parameters.map((parameter: { name: string }) => [parameter.name, parameter])
    )
    expect(Object.keys(parametersByName).sort()).toEqual([
      "accountName",
      "after",
      "bucketName",
      "include-api-keys",
      "include-manager-invites",
      "include-managers",
      "key-format",
      "limit",
      "manager-email",
      "name",
      "offset",
      "search",
      "sort",
      "tags"
    ])
    expect(parametersByName["limit"].schema).toMatchObject({
      type: "integer",
      minimum: 1,
      maximum: 1000,
      default: 1000
    })
    expect(parametersByName["accountName"].schema.pattern).toBe("^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")
    expect(body.components.securitySchemes.bearer).toMatchObject({ type: "http", scheme: "bearer" })
    expect(list.security).toEqual([{ bearer: [] }])
    const create = body.paths[`${prefix}/consumers`].post
    expect(body.components.schemas.ApiKeyCreate.properties.expiresOn ?? {}).toMatchObject({ format: "date-time" })
    expect(body.paths[`${prefix}/consumers/{consumerName}/keys`].post.requestBody.required).toBe(false)
    expect(Object.keys(create.responses).sort()).toEqual([
      "200",
      "400",
      "401",
      "403",
      "404",
      "408",
      "409",
      "413",
      "415",
      "422",
      "500",
      "503",
      "507"
    ])
    expect(Object.keys(create.responses["409"].content)).toEqual(["application/problem+json"])
    expect(
      body.components.schemas.ConsumerCreate.properties.name.pattern ?? JSON.stringify(body.components.schemas)
    ).toContain("^[a-z0-9-]{1,128}$")
  })

  it("has a docs page", async () => {
    const { headers, body } = await call("GET", "/v1/docs", { token: null })
    expect(headers.get("content-type")).toContain("text/html")
    expect(body).toContain("Tollgate")
  })
})
