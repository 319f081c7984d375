/**
 * Sends invalid input over HTTP, on every store. Each response is a problem with the right status, the store does not
 * change, the server keeps running, and neither the responses nor the log contain secrets.
 */

import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inspect } from "node:util"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { type DeploymentsModule, deployments } from "@tollgate/deployments"
import { toNodeHandler } from "@tollgate/node"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { sites } from "@tollgate/sites"
import { SqliteStore } from "@tollgate/sqlite"
import { Store, type StoreOperations } from "@tollgate/store"
import { StoreState } from "@tollgate/store-testkit"
import { makeSubscription, startPostgres, startRedis, temporaryFolder } from "@tollgate/testing"
import Sqlite from "better-sqlite3"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { grants, secret, stores, tokens } from "../../core/test/stores.ts"
import { readVisibleState } from "./storedEvents.ts"

interface Input {
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly raw?: string | Uint8Array
  readonly headers?: Record<string, string>
  readonly token?: string | null
  readonly status: number | ReadonlyArray<number>
}

interface Fixture {
  readonly bucketId: string
  readonly planId: string
  readonly subscriptionId: string
  readonly keyId: string
  readonly otherBucketId: string
  readonly otherPlanId: string
  readonly uploadUrl: string
  /** The plaintext of an API key. No error response may contain it. */
  readonly keyValue: string
}

/** Sent in request bodies. No error response and no log line may contain it. */
const canary = "canary-that-must-not-leak"

const prefix = "/v1/accounts/acme/key-buckets/b"
const nestArrays = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`

/** Bodies that are invalid for every endpoint. */
const invalidBodies: ReadonlyArray<readonly [string, string | Uint8Array]> = [
  ["a null character", '{"name":"new","description":"a\\u0000b"}'],
  ["a lone surrogate", '{"name":"new","description":"\\ud800"}'],
  ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0x6e, 0xff, 0x22, 0x7d])],
  ["a number that is too large", '{"name":"new","metadata":{"n":1e999}}'],
  ["__proto__", '{"name":"new","__proto__":{"x":1}}'],
  ["nested __proto__", '{"name":"new","metadata":{"a":{"__proto__":1}}}'],
  ["65 levels of nesting", `{"name":"new","metadata":{"a":${nestArrays(65)}}}`],
  ["100,000 levels of nesting", nestArrays(100_000)],
  ["not JSON", "hello"],
  ["truncated JSON", '{"name":'],
  ["two JSON values", '{"name":"new"}{}'],
  ["a comment", '{"name":"new"/* */}'],
  ["a trailing comma", '{"name":"new",}'],
  ["single quotes", "{'name':'new'}"],
  ["an array", "[]"],
  ["a string", '"new"'],
  ["a number", "5"],
  ["null", "null"],
  ["NaN", '{"name":NaN}'],
  ["a byte-order mark", "\ufeff{}"]
]

const invalidTimestamps = [
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
const invalidNames = ["", "A", "a b", "a_b", "ü", "a/b", "../x", "a".repeat(129), "a\n"]
const invalidPagination = [
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

const makeInputs = (fixture: Fixture): Readonly<Record<string, ReadonlyArray<Input>>> => {
  const { bucketId, planId, subscriptionId, keyId, otherBucketId, otherPlanId, uploadUrl, keyValue } = fixture
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
  const endpoints: ReadonlyArray<readonly [method: string, path: string, body?: unknown]> = [
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
    ["POST", "/v1/deployments/x/deploy"],
    ["POST", "/v1/deployments/x/rollback", { version: "3f0c8a52-6b1d-4e7a-9c35-2d8f41b7e690" }],
    ["POST", "/v1/deployments/x/promote", {}]
  ]
  return {
    bodies: invalidBodies.map(([, raw]) => ({ method: "POST", path: `${prefix}/consumers`, raw, status: 400 })),
    "usage bodies": invalidBodies.map(([, raw]) => ({
      method: "POST",
      path: `${metering}/subscriptions/${subscriptionId}/quotas/consume`,
      raw,
      status: 400
    })),
    "no token": endpoints.map(([method, path, body]) => ({ method, path, body, token: null, status: 401 })),
    "an unknown token": endpoints.map(([method, path, body]) => ({
      method,
      path,
      body,
      token: "an-unknown-management-token",
      status: 401
    })),
    "another account's token": endpoints.map(([method, path, body]) => ({
      method,
      path,
      body,
      token: tokens.otherAccount,
      status: path.startsWith("/v1/accounts") || path === "/v1/deployments/sources" ? 403 : 404
    })),
    "a read-only token": endpoints
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
      ["GET", `${prefix}/consumers/unknown`, 404],
      ["GET", `${prefix}/consumers/UPPER`, 404],
      ["GET", `${prefix}/consumers/alice/keys/key_x`, 404],
      ["GET", `/v1/metering/${otherBucketId}/plans/${planId}`, 404],
      ["GET", `/v1/metering/bckt_x`, 404],
      ["DELETE", `${metering}/plans/${otherPlanId}`, 404],
      ["GET", `${metering}/subscriptions/sbsc_x`, 404],
      ["DELETE", "/v1/deployments/unknown", 404],
      ["GET", "/sites/unknown/", 404],
      ["GET", "/sites/..%2f..%2fetc/passwd", [400, 404]]
    ].map(([method, path, status]) => ({ method, path, status }) as Input),
    queries: [
      ...invalidPagination.flatMap((query) => [
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
    "conditional requests": [
      {
        method: "PATCH",
        path: `${prefix}/consumers/alice`,
        body: {},
        headers: { "if-match": "invalid" },
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
      ...invalidNames.map((name) => post(`${prefix}/consumers`, { name })),
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
      ...invalidTimestamps.map((expiresOn) => post(`${prefix}/consumers/alice/keys`, { expiresOn })),
      ...invalidTimestamps.map((expiresOn) => post(`${prefix}/consumers/alice/roll-key`, { expiresOn })),
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
      post(`${prefix}/consumers/unknown/keys`, {}, 404),
      patch(`${prefix}/consumers/alice/keys/${keyId}`, { id: "x" }),
      post(`${prefix}/$verify`, {}),
      post(`${prefix}/$verify`, { key: 5 })
    ],
    metering: [
      post("/v1/metering", { accountName: "other" }, 403),
      post("/v1/metering", { names: "x" }),
      ...["", "a/b", 5, null].map((name) => post("/v1/metering", { name })),
      post("/v1/metering", { name: "taken" }, 409),
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
    "secrets in requests": [
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

let [inputCount, brokenStoreCount] = [0, 0]

/** Internal details of a store or of the code. */
const internalDetails = /node_modules|at .*\.ts:|SQLITE|no such table|ECONN|ReplyError|WRONGPASS|NOAUTH/

/** Captures the log from now on. The result stops the capture and returns the log. */
const captureLog = (): (() => string) => {
  const spies = (["log", "error", "warn", "info", "debug"] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation(() => undefined)
  )
  return () => {
    const log = inspect(
      spies.flatMap(({ mock }) => mock.calls),
      { depth: 12, maxArrayLength: null, maxStringLength: null }
    )
    for (const spy of spies) spy.mockRestore()
    return log
  }
}

describe.each(stores)("invalid input, on %s", (_, layer) => {
  const scope = Scope.makeUnsafe()
  const folder = mkdtempSync(join(tmpdir(), "tollgate-bad-"))
  let [gate, server, url]: [Tollgate<DeploymentsModule>, Server, string] = [undefined as never, undefined as never, ""]
  let readState: () => Promise<string>
  let inputsByKind: ReturnType<typeof makeInputs>
  let secrets: ReadonlyArray<string>

  beforeAll(async () => {
    const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
    const unwatchedStore: StoreOperations = Context.get(context, Store)
    const { store, state } = StoreState.watch(unwatchedStore)
    readState = async () => {
      const { records, events } = await readVisibleState(state)
      return JSON.stringify([records, [...events.keys()].sort()])
    }
    server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    gate = await createTollgate({
      store,
      secret,
      tokens: grants,
      publicUrl: url,
      modules: [deployments(sites({ folder }))]
    })
    server.on("request", toNodeHandler(gate))
    const acme = gate.account("acme")
    const alice = await acme
      .keyBucket("b")
      .consumers.create({ name: "alice", tags: { team: "blue" } }, { withApiKey: true })
    const meteringBucket = acme.meteringBucket((await acme.meteringBuckets.create()).id)
    const otherBucket = await acme.meteringBuckets.ensure("taken")
    const plan = { label: "Pro", planExternalId: "pro", meters: { requests: { max: 10 } } }
    const [proPlan, otherPlan] = [await meteringBucket.plans.create(plan), await otherBucket.plans.create(plan)]
    const { id: subscriptionId } = await meteringBucket.subscriptions.create(
      makeSubscription(proPlan.id, "pro", { subscriptionExternalId: "s-1" })
    )
    const { uploadUrl } = await acme.project("p").deployments.createSource({ branchName: "b" })
    const keyValue = alice.apiKeys[0].key ?? ""
    secrets = [secret, ...Object.values(tokens), keyValue, canary, folder]
    inputsByKind = makeInputs({
      keyValue,
      bucketId: meteringBucket.id,
      planId: proPlan.id,
      subscriptionId,
      keyId: alice.apiKeys?.[0]?.id ?? "",
      otherBucketId: otherBucket.id,
      otherPlanId: otherPlan.id,
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

  it("gets a problem response, and changes nothing", async () => {
    const stopCapture = captureLog()
    const before = await readState()
    for (const [kind, inputs] of Object.entries(inputsByKind)) {
      for (const [
        index,
        { method = "GET", path, body, raw, headers = {}, token = tokens.writer, status }
      ] of inputs.entries()) {
        const requestBody = raw ?? (body === undefined ? undefined : JSON.stringify(body))
        const label = `${kind} ${index}: ${method} ${path.slice(0, 120)} ${String(requestBody).slice(0, 80)}`
        const response = await fetch(`${url}${path}`, {
          method,
          headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
          ...(requestBody === undefined ? {} : { body: requestBody as string })
        })
        const text = await response.text()
        expect([status].flat(), label).toContain(response.status)
        expect(response.headers.get("content-type"), label).toBe("application/problem+json")
        const problem = JSON.parse(text)
        expect(problem, label).toMatchObject({
          status: response.status,
          type: expect.stringMatching(/^urn:tollgate:problem:/),
          title: expect.any(String),
          instance: expect.any(String)
        })
        expect(text, label).not.toMatch(internalDetails)
        const responseText = JSON.stringify([...response.headers]) + text
        for (const value of secrets) expect(responseText, label).not.toContain(value)
        inputCount++
      }
      expect(await readState(), kind).toBe(before)
    }
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    const log = stopCapture()
    for (const value of secrets) expect(log).not.toContain(value)
    expect(log).not.toMatch(internalDetails)
  }, 120_000)

  it("in the HTTP framing gets a 4xx or a closed connection, and the server keeps running", async () => {
    const before = await readState()
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
      let response = ""
      socket.on("data", (chunk) => {
        response += chunk
      })
      socket.on("error", () => undefined)
      socket.write(framing)
      socket.end()
      await once(socket, "close")
      expect(response, framing.slice(0, 150)).toMatch(/^(HTTP\/1\.1 4\d\d |$)/)
      inputCount++
    }
    expect(await readState()).toBe(before)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
  }, 30_000)
})

/** Stores that can be broken while they are open, and the location and password that must not leak. */
const breakableStores: ReadonlyArray<readonly [string, (scope: Scope.Scope) => Promise<BreakableStore>]> = [
  [
    "a SQLite store whose tables were dropped",
    async (scope) => {
      const folder = await Effect.runPromise(Scope.provide(temporaryFolder, scope))
      const path = join(folder, "store-of-acme.db")
      const store = await SqliteStore.open(path)
      const destroy = async () => {
        const connection = new Sqlite(path)
        const tables = connection
          .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
          .pluck()
          .all()
        connection.pragma("foreign_keys = OFF")
        for (const table of tables) connection.exec(`DROP TABLE "${table}"`)
        connection.close()
      }
      return { store, close: store.close, destroy, locations: [folder, "store-of-acme", "records"] }
    }
  ],
  [
    "a Redis server that is down",
    async (scope) => {
      const password = "the-password-of-the-server"
      const server = await Effect.runPromise(
        Scope.provide(startRedis({ tcp: true, arguments: ["--requirepass", password] }), scope)
      )
      const { host, port } = new URL(server.url)
      const store = await RedisStore.open(`redis://:${password}@${host}`)
      const destroy = () => Effect.runPromise(server.kill)
      return { store, close: store.close, destroy, locations: [password, host, port] }
    }
  ],
  [
    "a PostgreSQL server that is down",
    async (scope) => {
      const server = await Effect.runPromise(Scope.provide(startPostgres(), scope))
      const url = new URL(server.url)
      url.password = "the-password-of-the-server"
      const store = await PostgresStore.open(url.href)
      const destroy = () => Effect.runPromise(server.kill)
      return { store, close: store.close, destroy, locations: [url.password, url.host, url.port] }
    }
  ]
]

interface BreakableStore {
  readonly store: StoreOperations
  readonly close: () => Promise<void>
  readonly destroy: () => Promise<void>
  /** Parts of its location, and its password. */
  readonly locations: ReadonlyArray<string>
}

describe.each(breakableStores)("%s", (_, open) => {
  it("leads to 503, and neither the responses nor the log contain its location or the request", async () => {
    const scope = Scope.makeUnsafe()
    const { store, close, destroy, locations } = await open(scope)
    const gate = await createTollgate({ store, secret, tokens: grants })
    const acme = gate.account("acme")
    const alice = await acme.keyBucket("b").consumers.create({ name: "alice" }, { withApiKey: true })
    const key = alice.apiKeys[0].key ?? ""
    const { id: bucketId } = await acme.meteringBuckets.create()
    await destroy()
    const stopCapture = captureLog()
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
    let responses = ""
    for (const [method, path, body] of requests) {
      const headers = { authorization: `Bearer ${tokens.writer}` }
      const bodyInit = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await gate.handler(new Request(`http://gate${path}`, { method, headers, ...bodyInit }))
      const text = await response.text()
      expect(response.status, `${method} ${path}: ${text}`).toBe(503)
      responses += JSON.stringify([...response.headers]) + text
      brokenStoreCount++
    }
    expect(responses).not.toMatch(internalDetails)
    // The log contains the kind of error for the operator, and nothing of the request.
    const log = stopCapture()
    expect(log).toContain("The store cannot")
    expect(log).not.toMatch(/node_modules|no such table|SELECT|INSERT|EVALSHA/)
    for (const value of [secret, ...Object.values(tokens), key, canary, ...locations])
      expect(responses + log).not.toContain(value)
    await gate.close()
    await close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }, 60_000)
})

it("has sent at least 150 inputs to each store", () => {
  console.log(
    `invalid inputs: ${inputCount}, on ${stores.length} stores, none led to 500; ${brokenStoreCount} requests to broken stores; no key, token, body or location leaked`
  )
  expect(inputCount / stores.length).toBeGreaterThanOrEqual(150)
})
