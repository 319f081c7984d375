/**
 * What a caller may send that is wrong, tried over HTTP on every adapter: a problem with the right status, nothing
 * changed in the store, the server as well as before, and nothing in the log that should not be.
 */
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inspect } from "node:util"
import { createTollgate, Store, type StoreOperations, type Tollgate } from "@tollgate/core"
import { toNodeHandler } from "@tollgate/node"
import { RedisStore } from "@tollgate/redis"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"
import { StoreState } from "@tollgate/store-testkit"
import { makeSubscription, startRedis, temporaryFolder } from "@tollgate/testing"
import Sqlite from "better-sqlite3"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { grants, secret, stores, tokens } from "../../core/test/stores.ts"

interface Input {
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly raw?: string | Uint8Array
  readonly headers?: Record<string, string>
  readonly token?: string | null
  readonly status: number | ReadonlyArray<number>
}

interface World {
  readonly bucketId: string
  readonly planId: string
  readonly subscriptionId: string
  readonly keyId: string
  readonly otherBucketId: string
  readonly otherPlanId: string
  readonly uploadUrl: string
  /** The value of a key, which nobody is told again unless they ask for it. */
  readonly keyValue: string
}

/** What is sent in bodies, and is nobody's business in a log or an answer. */
const canary = "canary-that-nobody-may-repeat"

const prefix = "/v1/accounts/acme/key-buckets/b"
const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`

/** Texts that are no good anywhere in a body. */
const badTexts: ReadonlyArray<readonly [string, string | Uint8Array]> = [
  ["a zero", '{"name":"new","description":"a\\u0000b"}'],
  ["half a character", '{"name":"new","description":"\\ud800"}'],
  ["bytes that are no UTF-8", Buffer.from([0x7b, 0x22, 0x6e, 0xff, 0x22, 0x7d])],
  ["a number that is none", '{"name":"new","metadata":{"n":1e999}}'],
  ["__proto__", '{"name":"new","__proto__":{"x":1}}'],
  ["__proto__, deep", '{"name":"new","metadata":{"a":{"__proto__":1}}}'],
  ["65 levels", `{"name":"new","metadata":{"a":${deep(65)}}}`],
  ["100,000 levels", deep(100_000)],
  ["no JSON", "hello"],
  ["half of it", '{"name":'],
  ["two of them", '{"name":"new"}{}'],
  ["a comment", '{"name":"new"/* */}'],
  ["a comma too many", '{"name":"new",}'],
  ["single quotes", "{'name':'new'}"],
  ["a list", "[]"],
  ["a text", '"new"'],
  ["a number", "5"],
  ["null", "null"],
  ["NaN", '{"name":NaN}'],
  ["a byte-order mark", "\ufeff{}"]
]

const badTimes = [
  "2026",
  "1",
  "Jan 2 2026",
  "2026-02-30T00:00:00Z",
  "2026-01-01T00:00:00",
  "2026-13-01T00:00:00Z",
  "",
  "2026-01-01T25:00:00Z",
  "tomorrow",
  "2026-01-01 00:00:00Z"
]
const badNames = ["", "A", "a b", "a_b", "ü", "a/b", "../x", "a".repeat(129), "a\n"]
const badPages = [
  "limit=0",
  "limit=-1",
  "limit=1.5",
  "limit=x",
  "limit=",
  "offset=-1",
  "offset=1e3",
  "offset=99999999999",
  "limit=1&limit=2"
]

const tableFor = (world: World): Readonly<Record<string, ReadonlyArray<Input>>> => {
  const { bucketId, planId, subscriptionId, keyId, otherBucketId, otherPlanId, uploadUrl, keyValue } = world
  const metering = `/v1/metering/${bucketId}`
  const plan = { label: "L", planExternalId: "p", meters: { m: { max: 1 } } }
  const subscription = makeSubscription(planId, "pro", { subscriptionExternalId: "new" })
  const post = (path: string, body: unknown, status: Input["status"] = 400): Input => ({
    method: "POST",
    path,
    body,
    status
  })
  const patch = (path: string, body: unknown, status: Input["status"] = 400): Input => ({
    method: "PATCH",
    path,
    body,
    status
  })
  const upload = new URL(uploadUrl)
  const put = (search: string, status: number, headers: Record<string, string> = {}): Input => ({
    method: "PUT",
    path: `${upload.pathname}${search}`,
    raw: "x",
    headers,
    token: null,
    status
  })
  const everywhere: ReadonlyArray<readonly [method: string, path: string, body?: unknown]> = [
    ["GET", `${prefix}/consumers`],
    ["POST", `${prefix}/consumers`, { name: "new" }],
    ["GET", `${prefix}/consumers/alice`],
    ["PATCH", `${prefix}/consumers/alice`, { description: "x" }],
    ["DELETE", `${prefix}/consumers/alice`],
    ["POST", `${prefix}/consumers/alice/roll-key`, { expiresOn: "2031-01-01T00:00:00Z" }],
    ["GET", `${prefix}/consumers/alice/keys`],
    ["POST", `${prefix}/consumers/alice/keys`],
    ["POST", `${prefix}/consumers/alice/keys/$bulk`, [{}]],
    ["GET", `${prefix}/consumers/alice/keys/${keyId}`],
    ["PATCH", `${prefix}/consumers/alice/keys/${keyId}`, { description: "x" }],
    ["DELETE", `${prefix}/consumers/alice/keys/${keyId}`],
    ["POST", `${prefix}/$verify`, { key: "x" }],
    ["GET", metering],
    ["DELETE", metering],
    ["GET", `${metering}/plans`],
    ["POST", `${metering}/plans`, plan],
    ["GET", `${metering}/plans/${planId}`],
    ["PATCH", `${metering}/plans/${planId}`, { label: "x" }],
    ["DELETE", `${metering}/plans/${planId}`],
    ["GET", `${metering}/subscriptions`],
    ["POST", `${metering}/subscriptions`, subscription],
    ["GET", `${metering}/subscriptions/${subscriptionId}`],
    ["PATCH", `${metering}/subscriptions/${subscriptionId}`, { status: "active" }],
    ["DELETE", `${metering}/subscriptions/${subscriptionId}`],
    ["GET", `${metering}/subscriptions/${subscriptionId}/quotas`],
    ["POST", `${metering}/subscriptions/${subscriptionId}/quotas/consume`, { meters: { requests: 1 } }],
    ["GET", "/v1/accounts/acme/projects/p/deployments"],
    ["GET", "/v1/accounts/acme/projects/p/deployment-status/x"],
    ["POST", "/v1/deployments/sources", { accountName: "acme", projectName: "p", branchName: "b" }],
    ["GET", "/v1/deployments/x"],
    ["DELETE", "/v1/deployments/x"],
    ["POST", "/v1/deployments/x/deploy"]
  ]
  return {
    bodies: badTexts.map(([, raw]) => ({ method: "POST", path: `${prefix}/consumers`, raw, status: 400 })),
    "bodies of a use": badTexts.map(([, raw]) => ({
      method: "POST",
      path: `${metering}/subscriptions/${subscriptionId}/quotas/consume`,
      raw,
      status: 400
    })),
    "no credential": everywhere.map(([method, path, body]) => ({ method, path, body, token: null, status: 401 })),
    "a wrong credential": everywhere.map(([method, path, body]) => ({
      method,
      path,
      body,
      token: "a-token-of-nobody-at-all",
      status: 401
    })),
    "another account's credential": everywhere.map(([method, path, body]) => ({
      method,
      path,
      body,
      token: tokens.stranger,
      status: path.startsWith("/v1/accounts") || path === "/v1/deployments/sources" ? 403 : 404
    })),
    "a credential that may only read": everywhere
      .filter(([method, path]) => method !== "GET" && !path.endsWith("$verify"))
      .map(([method, path, body]) => ({ method, path, body, token: tokens.reader, status: 403 })),
    paths: [
      ["GET", "/", 404],
      ["GET", "/v1", 404],
      ["GET", "/v2/metering", 404],
      ["GET", "/V1/metering", 404],
      ["GET", "/v1//metering", 404],
      ["GET", "/v1/metering/%", 400],
      ["GET", "/v1/metering/%00", 400],
      ["GET", "/v1/metering/%ff", 400],
      ["GET", "/v1/metering/../../etc/passwd", 404],
      ["GET", `/v1/accounts/a%2fb/key-buckets/b/consumers`, [400, 403]],
      ["GET", `/v1/accounts/${"a".repeat(200)}/key-buckets/b/consumers`, [400, 403]],
      ["GET", `/v1/accounts/acme/key-buckets/${"b".repeat(129)}/consumers`, 400],
      ["GET", "/v1/accounts/acme/key-buckets/-b/consumers", 400],
      ["GET", "/v1/accounts/acme/key-buckets/b;x/consumers", 400],
      ["GET", `/${"x".repeat(6000)}`, 404],
      ["PUT", `${prefix}/consumers`, 405],
      ["DELETE", "/v1/metering", 405],
      ["PATCH", "/healthz", 405],
      ["POST", "/v1/openapi.json", 405],
      ["OPTIONS", "/v1/metering", 405],
      ["GET", `${prefix}/consumers/nobody`, 404],
      ["GET", `${prefix}/consumers/UPPER`, 404],
      ["GET", `${prefix}/consumers/alice/keys/key_x`, 404],
      ["GET", `/v1/metering/${otherBucketId}/plans/${planId}`, 404],
      ["GET", `/v1/metering/bckt_x`, 404],
      ["DELETE", `${metering}/plans/${otherPlanId}`, 404],
      ["GET", `${metering}/subscriptions/sbsc_x`, 404],
      ["DELETE", "/v1/deployments/nobody", 404],
      ["GET", "/sites/nobody/", 404],
      ["GET", "/sites/..%2f..%2fetc/passwd", [400, 404]]
    ].map(([method, path, status]) => ({ method, path, status }) as Input),
    queries: [
      ...badPages.flatMap((query) => [
        `${prefix}/consumers?${query}`,
        `${metering}/plans?${query}`,
        `/v1/accounts/acme/projects/p/deployments?${query}`
      ]),
      `${prefix}/consumers?manager=x`,
      `${prefix}/consumers?tag=x`,
      `${prefix}/consumers?tag.=x`,
      `${prefix}/consumers?include-api-keys=yes`,
      `${prefix}/consumers?include-managers=1`,
      `${prefix}/consumers?key-format=all`,
      `${prefix}/consumers?manager-email=x`,
      `${prefix}/consumers?tag.a=1&tag.a=2`,
      `${prefix}/consumers?LIMIT=1`,
      `${prefix}/consumers/alice?key-format=loud`,
      `${metering}/subscriptions?status=gone`,
      `${metering}/subscriptions?customerkey=x`,
      "/v1/metering?account=x",
      `${prefix}/consumers?x=%ff`
    ].map((path) => ({ path, status: 400 })),
    conditions: [
      {
        method: "PATCH",
        path: `${prefix}/consumers/alice`,
        body: {},
        headers: { "if-match": "nonsense" },
        status: 400
      },
      { method: "PATCH", path: `${prefix}/consumers/alice`, body: {}, headers: { "if-match": '"999"' }, status: 412 },
      { method: "DELETE", path: `${prefix}/consumers/alice`, headers: { "if-match": 'W/"1"' }, status: 412 },
      { method: "DELETE", path: `${prefix}/consumers/alice?tag.team=red`, status: 404 },
      { method: "DELETE", path: `${prefix}/consumers/alice?team=red`, status: 400 },
      { method: "POST", path: `${prefix}/consumers/alice/keys`, headers: { "idempotency-key": "a b" }, status: 400 },
      {
        method: "POST",
        path: `${prefix}/consumers/alice/keys`,
        headers: { "idempotency-key": "x".repeat(256) },
        status: 400
      },
      {
        method: "POST",
        path: `${prefix}/consumers`,
        body: { name: "new" },
        headers: { "content-encoding": "gzip" },
        status: 415
      },
      {
        method: "POST",
        path: `${prefix}/consumers`,
        raw: `{"name":"new","description":"${"x".repeat(1_100_000)}"}`,
        status: 413
      }
    ],
    consumers: [
      ...badNames.map((name) => post(`${prefix}/consumers`, { name })),
      ...[
        {},
        { name: 1 },
        { name: "new", id: "x" },
        { name: "new", createdOn: "2026-01-01T00:00:00Z" },
        { name: "new", extra: 1 },
        { name: "new", tags: [] },
        { name: "new", tags: { "a b": 1 } },
        { name: "new", tags: { a: {} } },
        { name: "new", tags: { a: "x".repeat(257) } },
        { name: "new", tags: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`t${index}`, 1])) },
        { name: "new", metadata: [] },
        { name: "new", metadata: { a: "x".repeat(70_000) } },
        { name: "new", managers: ["no e-mail"] },
        { name: "new", managers: [{}] },
        { name: "new", apiKeys: {} },
        { name: "new", apiKeys: [{ key: "short" }] },
        { name: "new", apiKeys: [{ expiresOn: "soon" }] },
        { name: "new", description: 5 }
      ].map((body) => post(`${prefix}/consumers`, body)),
      post(`${prefix}/consumers`, { name: "alice" }, 409),
      patch(`${prefix}/consumers/alice`, { name: "bob" }),
      patch(`${prefix}/consumers/alice`, { tags: null }),
      patch(`${prefix}/consumers/alice`, { nmae: "x" })
    ],
    keys: [
      ...badTimes.map((expiresOn) => post(`${prefix}/consumers/alice/keys`, { expiresOn })),
      ...badTimes.map((expiresOn) => post(`${prefix}/consumers/alice/roll-key`, { expiresOn })),
      post(`${prefix}/consumers/alice/roll-key`, {}),
      post(`${prefix}/consumers/alice/keys`, { key: "white space in it here" }),
      post(`${prefix}/consumers/alice/keys`, { key: `tg_${"a".repeat(40)}_aaaaaa` }),
      post(`${prefix}/consumers/alice/keys`, { key: "x".repeat(257) }),
      post(`${prefix}/consumers/alice/keys`, { expireOn: "2031-01-01T00:00:00Z" }),
      post(`${prefix}/consumers/alice/keys/$bulk`, []),
      post(
        `${prefix}/consumers/alice/keys/$bulk`,
        Array.from({ length: 1001 }, () => ({}))
      ),
      post(`${prefix}/consumers/alice/keys/$bulk`, [{}, { key: "short" }]),
      post(`${prefix}/consumers/nobody/keys`, {}, 404),
      patch(`${prefix}/consumers/alice/keys/${keyId}`, { id: "x" }),
      post(`${prefix}/$verify`, {}),
      post(`${prefix}/$verify`, { key: 5 })
    ],
    metering: [
      post("/v1/metering", { accountName: "other" }, 403),
      post("/v1/metering", { name: "x" }),
      ...[
        {},
        { ...plan, meters: {} },
        { ...plan, meters: { m: {} } },
        { ...plan, meters: { m: { max: -1 } } },
        { ...plan, meters: { m: { max: "1" } } },
        { ...plan, meters: { "a b": { max: 1 } } },
        { ...plan, meters: [] },
        { ...plan, trialDays: -1 },
        { ...plan, trialDays: 1.5 },
        { ...plan, trialDays: 4000 },
        { ...plan, trialEndStatus: "gone" },
        { ...plan, isTrialCollectPayment: "yes" },
        { ...plan, id: "x" },
        { ...plan, label: "" }
      ].map((body) => post(`${metering}/plans`, body)),
      post(`${metering}/plans`, { ...plan, planExternalId: "pro" }, 409),
      { method: "DELETE", path: `${metering}/plans/${planId}`, status: 409 },
      ...[
        {},
        { ...subscription, planIds: [] },
        { ...subscription, planIds: [planId, planId] },
        { ...subscription, status: "gone" },
        { ...subscription, type: "once" },
        { ...subscription, renewalStrategy: "daily" },
        { ...subscription, region: "moon" },
        { ...subscription, customerKey: "" },
        { ...subscription, quotaResetAnchor: "soon" },
        { ...subscription, extra: 1 }
      ].map((body) => post(`${metering}/subscriptions`, body)),
      post(`${metering}/subscriptions`, { ...subscription, planIds: ["plan_none"] }, 422),
      post(`${metering}/subscriptions`, { ...subscription, planExternalIds: ["other"] }, 422),
      post(`${metering}/subscriptions`, { ...subscription, planIds: [otherPlanId] }, 422),
      post(`${metering}/subscriptions`, { ...subscription, subscriptionExternalId: "s-1" }, 409),
      ...[
        { prorate: 2 },
        { prorate: -0.1 },
        { prorate: "1" },
        { customerKey: "bob" },
        { planIds: [planId] },
        { planExternalIds: [] }
      ].map((body) => patch(`${metering}/subscriptions/${subscriptionId}`, body)),
      ...[
        {},
        { meters: {} },
        { meters: { requests: 0 } },
        { meters: { requests: 1.5 } },
        { meters: { requests: -1 } },
        { meters: { requests: "1" } },
        { meters: { requests: 2 ** 60 } },
        { meter: { requests: 1 } }
      ].map((body) => post(`${metering}/subscriptions/${subscriptionId}/quotas/consume`, body)),
      post(`${metering}/subscriptions/${subscriptionId}/quotas/consume`, { meters: { other: 1 } }, 422),
      post(`${metering}/subscriptions/${subscriptionId}/quotas/consume`, { meters: { requests: 11 } }, 429)
    ],
    uploads: [
      put("", 403),
      put("?expires=1&signature=x", 403),
      put(upload.search.replace(/signature=./, "signature=z"), 403),
      put(upload.search.replace("expires=", "expires=9"), 403),
      put(`${upload.search}&signature=x`, 400),
      put(upload.search, 415, { "content-encoding": "br" }),
      put(upload.search, 400, { "content-digest": "sha-256=:AAAA:" }),
      put(upload.search, 400, { "content-digest": "md5" }),
      { method: "PUT", path: `${upload.pathname}${upload.search}`, token: null, status: 400 },
      { method: "POST", path: `${upload.pathname}${upload.search}`, token: null, status: 405 }
    ],
    "what is not repeated": [
      { path: `${prefix}/consumers`, token: keyValue, status: 401 },
      { method: "POST", path: `${prefix}/consumers`, raw: `{"name":"new","description":"${canary}"`, status: 400 },
      { method: "POST", path: `${prefix}/consumers`, raw: `${canary} ${keyValue}`, status: 400 },
      { method: "POST", path: `${prefix}/consumers`, raw: `"${canary}"`, status: 400 },
      post(`${prefix}/consumers`, { name: `${canary} ${keyValue}` }),
      post(`${prefix}/consumers`, { name: "new", description: canary, tags: { a: [canary] } }),
      post(`${prefix}/consumers`, { name: "new", metadata: canary }),
      post(`${prefix}/consumers`, { name: "new", managers: [canary, keyValue] }),
      post(`${prefix}/consumers`, { name: "new", apiKeys: [{ key: `${canary} ${keyValue}` }] }),
      post(`${prefix}/consumers`, { name: "new", apiKeys: [{ key: keyValue }] }, 409),
      post(`${prefix}/consumers`, { name: "alice", description: canary }, 409),
      patch(`${prefix}/consumers/alice`, { description: canary, name: canary }),
      post(`${prefix}/consumers/alice/keys`, { key: keyValue, description: canary }, 409),
      post(`${prefix}/consumers/alice/keys`, { key: `${keyValue}x` }),
      post(`${prefix}/consumers/alice/keys`, { expiresOn: canary }),
      post(`${prefix}/consumers/alice/keys/$bulk`, [{ key: canary }, { key: canary }], 409),
      post(`${prefix}/consumers/alice/roll-key`, { expiresOn: keyValue }),
      post(`${prefix}/$verify`, { key: [keyValue] }),
      post(`${prefix}/$verify`, { key: keyValue, more: canary }),
      post(`${metering}/plans`, { ...plan, label: canary, meters: { m: { max: canary } } }),
      post(`${metering}/subscriptions`, { ...subscription, status: canary }),
      post(`${metering}/subscriptions`, { ...subscription, metadata: { note: canary }, planIds: [] }),
      post(`${metering}/subscriptions/${subscriptionId}/quotas/consume`, { meters: { requests: canary } }),
      put(upload.search, 400, { "content-digest": "sha-256=:AAAA:" })
    ].map((input) => (input.method === "PUT" ? { ...input, raw: canary } : input))
  }
}

let [total, refusedBroken] = [0, 0]

/** What a store, or the code, says of itself. */
const storesOwn = /node_modules|at .*\.ts:|SQLITE|no such table|ECONN|ReplyError|WRONGPASS|NOAUTH/

/** Keeps what is logged from now on, and gives it when it is called. */
const listenToLog = (): (() => string) => {
  const spies = (["log", "error", "warn", "info", "debug"] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation(() => undefined)
  )
  return () => {
    const said = inspect(
      spies.flatMap(({ mock }) => mock.calls),
      { depth: 12, maxArrayLength: null, maxStringLength: null }
    )
    for (const spy of spies) spy.mockRestore()
    return said
  }
}

describe.each(stores)("bad input, on %s", (_, layer) => {
  const scope = Scope.makeUnsafe()
  const folder = mkdtempSync(join(tmpdir(), "tollgate-bad-"))
  let [gate, server, url]: [Tollgate, Server, string] = [undefined as never, undefined as never, ""]
  let hash: () => Promise<string>
  let table: ReturnType<typeof tableFor>
  let hidden: ReadonlyArray<string>

  beforeAll(async () => {
    const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
    const real: StoreOperations = Context.get(context, Store)
    const { store, state } = StoreState.watch(real)
    hash = () => Effect.runPromise(state.hash)
    server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    gate = await createTollgate({ store, secret, tokens: grants, publicUrl: url, deployments: sites({ folder }) })
    server.on("request", toNodeHandler(gate))
    const alice = await gate.consumers.create(
      "acme",
      "b",
      { name: "alice", tags: { team: "blue" } },
      { withApiKey: true }
    )
    const [mine, theirs] = [await gate.meteringBuckets.create("acme"), await gate.meteringBuckets.create("acme")]
    const plan = { label: "Pro", planExternalId: "pro", meters: { requests: { max: 10 } } }
    const [pro, other] = [await gate.plans.create(mine.id, plan), await gate.plans.create(theirs.id, plan)]
    const { id: subscriptionId } = await gate.subscriptions.create(
      mine.id,
      makeSubscription(pro.id, "pro", { subscriptionExternalId: "s-1" })
    )
    const { uploadUrl } = await gate.deployments.createSource({
      accountName: "acme",
      projectName: "p",
      branchName: "b"
    })
    const keyValue = alice.apiKeys?.[0]?.key ?? ""
    hidden = [secret, ...Object.values(tokens), keyValue, canary, folder]
    table = tableFor({
      keyValue,
      bucketId: mine.id,
      planId: pro.id,
      subscriptionId,
      keyId: alice.apiKeys?.[0]?.id ?? "",
      otherBucketId: theirs.id,
      otherPlanId: other.id,
      uploadUrl
    })
  }, 30_000)
  afterAll(async () => {
    server.close()
    server.closeAllConnections()
    await gate.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(folder, { recursive: true, force: true })
  })

  it("is answered with a problem, and changes nothing", async () => {
    const logged = listenToLog()
    const before = await hash()
    for (const [kind, inputs] of Object.entries(table)) {
      for (const [
        index,
        { method = "GET", path, body, raw, headers = {}, token = tokens.writer, status }
      ] of inputs.entries()) {
        const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
        const name = `${kind} ${index}: ${method} ${path.slice(0, 120)} ${String(sent).slice(0, 80)}`
        const response = await fetch(`${url}${path}`, {
          method,
          headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
          ...(sent === undefined ? {} : { body: sent as string })
        })
        const text = await response.text()
        expect([status].flat(), name).toContain(response.status)
        expect(response.headers.get("content-type"), name).toBe("application/problem+json")
        const problem = JSON.parse(text)
        expect(problem, name).toMatchObject({
          status: response.status,
          type: expect.stringMatching(/^urn:tollgate:problem:/),
          title: expect.any(String),
          instance: expect.any(String)
        })
        expect(text, name).not.toMatch(storesOwn)
        const answered = JSON.stringify([...response.headers]) + text
        for (const word of hidden) expect(answered, name).not.toContain(word)
        total++
      }
      expect(await hash(), kind).toBe(before)
    }
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    const said = logged()
    for (const word of hidden) expect(said).not.toContain(word)
    expect(said).not.toMatch(storesOwn)
  }, 120_000)

  it("in its framing is answered, or cut off, and the server goes on", async () => {
    const before = await hash()
    const { port } = new URL(url)
    const head = `POST ${prefix}/consumers HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tokens.writer}\r\n`
    const framings = [
      `${head}content-length: 5\r\ncontent-length: 6\r\n\r\n{"a":1}`,
      `${head}content-length: 14\r\ntransfer-encoding: chunked\r\n\r\n{"name":"new"}`,
      `${head}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
      `${head}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      `${head}content-length: -1\r\n\r\n`,
      `${head}content-length: 1e3\r\n\r\n`,
      `${head}x-large: ${"x".repeat(40_000)}\r\n\r\n`,
      `${head}${Array.from({ length: 3000 }, (_, index) => `x-${index}: 1\r\n`).join("")}\r\n`,
      `${head}bad header\r\n\r\n`,
      `${head}x: a\0b\r\n\r\n`,
      `POST ${prefix}/consumers HTTP/9.9\r\nhost: x\r\n\r\n`,
      `POST ${prefix} /consumers HTTP/1.1\r\nhost: x\r\n\r\n`,
      "\0\0\0\0\r\n\r\n",
      `GET /${"y".repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
      `GET /healthz HTTP/1.1\r\n\r\n`
    ]
    for (const framing of framings) {
      const socket = connect(Number(port), "127.0.0.1")
      let answer = ""
      socket.on("data", (chunk) => {
        answer += chunk
      })
      socket.on("error", () => undefined)
      socket.write(framing)
      socket.end()
      await once(socket, "close")
      expect(answer, framing.slice(0, 150)).toMatch(/^(HTTP\/1\.1 4\d\d |$)/)
      total++
    }
    expect(await hash()).toBe(before)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
  }, 30_000)
})

/** Stores whose place and password are known, and which can be broken while they are open. */
const breakable: ReadonlyArray<readonly [string, (scope: Scope.Scope) => Promise<Breakable>]> = [
  [
    "SQLite, whose tables are gone",
    async (scope) => {
      const folder = await Effect.runPromise(Scope.provide(temporaryFolder, scope))
      const path = join(folder, "store-of-acme.db")
      const store = await SqliteStore.open(path)
      const destroy = async () => {
        const rival = new Sqlite(path)
        const tables = rival
          .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
          .pluck()
          .all()
        rival.pragma("foreign_keys = OFF")
        for (const table of tables) rival.exec(`DROP TABLE "${table}"`)
        rival.close()
      }
      return { store, close: store.close, destroy, places: [folder, "store-of-acme", "records"] }
    }
  ],
  [
    "Redis, which is down",
    async (scope) => {
      const password = "the-password-of-the-server"
      const server = await Effect.runPromise(
        Scope.provide(startRedis({ tcp: true, arguments: ["--requirepass", password] }), scope)
      )
      const { host, port } = new URL(server.url)
      const store = await RedisStore.open(`redis://:${password}@${host}`)
      const destroy = () => Effect.runPromise(server.kill)
      return { store, close: store.close, destroy, places: [password, host, port] }
    }
  ]
]

interface Breakable {
  readonly store: StoreOperations
  readonly close: () => Promise<void>
  readonly destroy: () => Promise<void>
  /** Where it is, and how one gets in. */
  readonly places: ReadonlyArray<string>
}

describe.each(breakable)("%s", (_, open) => {
  it("is answered with 503, and neither the answers nor the log tell where it is or what was sent", async () => {
    const scope = Scope.makeUnsafe()
    const { store, close, destroy, places } = await open(scope)
    const gate = await createTollgate({ store, secret, tokens: grants })
    const alice = await gate.consumers.create("acme", "b", { name: "alice" }, { withApiKey: true })
    const key = alice.apiKeys?.[0]?.key ?? ""
    const { id: bucketId } = await gate.meteringBuckets.create("acme")
    await destroy()
    const logged = listenToLog()
    const requests: ReadonlyArray<readonly [method: string, path: string, body?: unknown]> = [
      ["GET", `${prefix}/consumers?tag.team=${canary}`],
      ["GET", `${prefix}/consumers/alice?include-api-keys=true&key-format=visible`],
      ["POST", `${prefix}/consumers`, { name: "new", description: canary, apiKeys: [{ key: `${canary}-as-a-key` }] }],
      ["PATCH", `${prefix}/consumers/alice`, { description: canary }],
      ["DELETE", `${prefix}/consumers/alice`],
      ["POST", `${prefix}/consumers/alice/keys`, { key: `${canary}-as-a-key` }],
      ["POST", `${prefix}/$verify`, { key }],
      ["POST", "/v1/metering"],
      ["GET", `/v1/metering/${bucketId}`],
      ["POST", `/v1/metering/${bucketId}/plans`, { label: canary, planExternalId: "p", meters: { m: { max: 1 } } }],
      ["GET", "/readyz"]
    ]
    let said = ""
    for (const [method, path, body] of requests) {
      const headers = { authorization: `Bearer ${tokens.writer}` }
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      const answer = await gate.handler(new Request(`http://gate${path}`, { method, headers, ...sent }))
      const text = await answer.text()
      expect(answer.status, `${method} ${path}: ${text}`).toBe(503)
      said += JSON.stringify([...answer.headers]) + text
      refusedBroken++
    }
    expect(said).not.toMatch(storesOwn)
    // Whoever runs the server is told the kind of fault, and nothing of what was asked.
    const log = logged()
    expect(log).toContain("The store cannot")
    expect(log).not.toMatch(/node_modules|no such table|SELECT|INSERT|EVALSHA/)
    for (const word of [secret, ...Object.values(tokens), key, canary, ...places])
      expect(said + log).not.toContain(word)
    await gate.close()
    await close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }, 60_000)
})

it("tells how much was tried", () => {
  console.log(
    `bad inputs tried: ${total}, on ${stores.length} stores; answered with 500: 0; ${refusedBroken} requests to stores that are gone; told or logged of keys, tokens, bodies, places: 0`
  )
  expect(total / stores.length).toBeGreaterThanOrEqual(150)
})
