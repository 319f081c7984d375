/**
 * The handles of the promise API, in process and in a client of the same server: both must behave alike.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { inspect } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import {
  type AccountHandle,
  createTollgate,
  InvalidInput,
  isTollgateError,
  MeteringBucketNotFound,
  type Tollgate,
  TollgateError,
  UnknownPlan,
  VersionMismatch
} from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import {
  type DeploymentsModule,
  type DeploymentsOfAccount,
  deployments,
  memorySourceStore,
  memoryTarget
} from "@tollgate/deployments"
import { deploymentsClient } from "@tollgate/deployments/client"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"

const secret = "test-secret-with-at-least-32-characters"
const token = "token-for-all-the-accounts"

const modules = [deploymentsClient]
let gate: Tollgate<DeploymentsModule>
let baseUrl = ""
const server = createServer((req, res) => toNodeHandler(gate)(req, res))

beforeAll(async () => {
  gate = await createTollgate({
    store: MemoryStore.open(),
    secret,
    tokens: [{ token, account: "*" }],
    publicUrl: "http://gate",
    modules: [deployments({ sources: memorySourceStore(), target: memoryTarget() })]
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  baseUrl = `http://localhost:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve))
  await gate.close()
})

const callers: ReadonlyArray<readonly [string, (account: string) => AccountHandle & DeploymentsOfAccount]> = [
  ["in process", (account) => gate.account(account)],
  ["in a client", (account) => createClient({ baseUrl, token, modules }).account(account)]
]

let count = 0
const fresh = (): string => `name-${++count}`
const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail("the call succeeded"),
    (error: unknown) => error
  )

describe.each(callers)("a handle %s", (_, getAccount) => {
  it("creates a consumer with a key, whose type has the key", async () => {
    const production = getAccount("acme").keyBucket(fresh())
    const alice = await production.consumers.create({ name: "alice" }, { withApiKey: true })
    const [key] = alice.apiKeys
    expect(await production.verify(key.key ?? "")).toMatchObject({ valid: true, keyId: key.id })
    expect(await production.verify("tg_wrong")).toMatchObject({ valid: false, reason: "invalid" })
    const rolled = await production.consumers.rollKey("alice", { expiresOn: "2999-01-01T00:00:00Z" })
    expect(await production.verify(rolled.key ?? "")).toMatchObject({ valid: true, keyId: rolled.id })
  })

  it("counts undefined as absent, in input and in options", async () => {
    const { consumers, keys } = getAccount("acme").keyBucket(fresh())
    const created = await consumers.create(
      { name: "alice", description: undefined, tags: { env: "test" }, apiKeys: [{ description: undefined }] },
      { withApiKey: undefined, idempotencyKey: undefined, signal: undefined }
    )
    expect(created).not.toHaveProperty("description")
    expect((await consumers.list({ tags: undefined, limit: undefined, apiKeys: undefined })).total).toBe(1)
    const updated = await consumers.update(
      "alice",
      { description: undefined, metadata: { a: 1 } },
      { ifTags: undefined }
    )
    expect(updated.metadata).toEqual({ a: 1 })
    expect((await keys.create("alice", undefined, undefined)).key).toBeDefined()
  })

  it("names the argument that is missing or wrong", async () => {
    const { consumers, keys } = getAccount("acme").keyBucket(fresh())
    // biome-ignore lint/suspicious/noExplicitAny: calls that the types reject
    const untyped = { consumers, keys } as any
    const errors = [
      [untyped.consumers.create(), /name/],
      [untyped.consumers.create(null), /The body/],
      [untyped.consumers.get(), /consumerName/],
      [untyped.consumers.create({ name: "a", nmae: 1 }), /\/nmae: unknown field/],
      [untyped.consumers.list({ lmit: 1 }), /lmit: unknown parameter/],
      [untyped.consumers.list("x"), /options: must be an object/],
      [untyped.consumers.list({ signal: 1 }), /signal: must be an AbortSignal/],
      [untyped.consumers.list({ apiKeys: "true" }), /apiKeys/],
      [untyped.consumers.update("alice"), /The body/],
      [untyped.consumers.remove("alice", { ifMatch: "1" }), /ifMatch/],
      [untyped.keys.create("alice", {}, { idempotencyKey: " " }), /idempotencyKey/],
      [untyped.keys.get("alice"), /keyId/]
    ] as const
    for (const [call, message] of errors) {
      const error = await rejection(call)
      expect(error).toBeInstanceOf(InvalidInput)
      expect(error).toMatchObject({ message: expect.stringMatching(message), status: 400, code: "bad-request" })
    }
  })

  it("checks the names of handles at once", () => {
    const account = getAccount("acme")
    for (const call of [
      () => getAccount("a/b"),
      () => getAccount(undefined as never),
      () => account.keyBucket(""),
      () => account.project("..")
    ]) {
      expect(call).toThrow(InvalidInput)
    }
  })

  it("returns versions, and changes an item only at the version of ifMatch", async () => {
    const { consumers, keys } = getAccount("acme").keyBucket(fresh())
    const created = await consumers.create({ name: "alice" })
    const updated = await consumers.update("alice", { description: "one" }, { ifMatch: created.version })
    expect(updated.version).toBeGreaterThan(created.version)
    expect((await consumers.get("alice")).version).toBe(updated.version)
    const stale = await rejection(consumers.update("alice", { description: "two" }, { ifMatch: created.version }))
    expect(stale).toBeInstanceOf(VersionMismatch)
    const key = await keys.create("alice")
    await keys.update("alice", key.id, { description: "x" }, { ifMatch: [1, key.version] })
    expect(await rejection(keys.remove("alice", key.id, { ifMatch: key.version }))).toBeInstanceOf(VersionMismatch)
    await consumers.remove("alice", { ifMatch: updated.version })
  })

  it("iterates over all pages", async () => {
    const { consumers } = getAccount("acme").keyBucket(fresh())
    for (let index = 0; index < 7; index++)
      await consumers.create({ name: `c-${index}`, tags: { even: index % 2 === 0 } })
    const names = async (options: Parameters<typeof consumers.list>[0]) => {
      const found: Array<string> = []
      for await (const { name } of consumers.list(options)) found.push(name)
      return found
    }
    expect(await names({ limit: 3 })).toEqual(["c-0", "c-1", "c-2", "c-3", "c-4", "c-5", "c-6"])
    expect(await names({ limit: 2, offset: 3, tags: { even: "true" } })).toEqual(["c-6"])
    expect(await names({ tags: { even: "none" } })).toEqual([])
    expect(await consumers.list({ limit: 2, offset: 1 })).toMatchObject({ limit: 2, offset: 1, total: 7 })
  })

  it("applies calls with one idempotency key once", async () => {
    const account = getAccount("acme")
    const { consumers, keys } = account.keyBucket(fresh())
    const idempotencyKey = fresh()
    const first = await consumers.create({ name: "alice" }, { withApiKey: true, idempotencyKey })
    expect(await consumers.create({ name: "alice" }, { withApiKey: true, idempotencyKey })).toEqual(first)
    expect(await rejection(consumers.create({ name: "bob" }, { idempotencyKey }))).toMatchObject({
      code: "idempotency-key-reused",
      status: 422
    })
    const key = await keys.create("alice", {}, { idempotencyKey })
    expect((await keys.create("alice", {}, { idempotencyKey })).id).toBe(key.id)
    const bucket = await account.meteringBuckets.create({}, { idempotencyKey })
    expect((await account.meteringBuckets.create({}, { idempotencyKey })).id).toBe(bucket.id)
  })

  it("aborts a call, and rejects with the signal's reason", async () => {
    const { consumers } = getAccount("acme").keyBucket(fresh())
    const reason = new Error("changed my mind")
    expect(await rejection(consumers.list({ signal: AbortSignal.abort(reason) }))).toBe(reason)
    const controller = new AbortController()
    const call = rejection(consumers.create({ name: "alice" }, { signal: controller.signal }))
    controller.abort(reason)
    await call.catch(() => undefined)
  })

  it("has metering with defaults", async () => {
    const account = getAccount(fresh())
    const billing = await account.meteringBuckets.ensure("default")
    expect((await account.meteringBuckets.ensure("default")).id).toBe(billing.id)
    expect((await account.meteringBuckets.list({ name: "default" })).data).toMatchObject([
      { id: billing.id, name: "default" }
    ])
    const taken = await rejection(account.meteringBuckets.create({ name: "default" }))
    expect(taken).toMatchObject({ code: "bucket-name-taken", status: 409, meteringBucketName: "default" })
    const free = await billing.plans.create({ label: "Free", meters: { requests: { max: 2 } } })
    const pro = await billing.plans.create({ planExternalId: "pro", meters: { jobs: { max: 1 } } })
    expect([free.planExternalId, pro.label]).toEqual(["Free", "pro"])
    const subscription = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro", "Free"] })
    expect(subscription).toMatchObject({
      planIds: [pro.id, free.id],
      planExternalIds: ["pro", "Free"],
      status: "active",
      type: "periodic",
      renewalStrategy: "monthly",
      customerExternalId: "alice"
    })
    const other = await billing.subscriptions.create({
      customerKey: "bob",
      planIds: [free.id],
      renewalStrategy: "yearly"
    })
    expect(other).toMatchObject({ planExternalIds: ["Free"], renewalStrategy: "yearly" })
    const idempotencyKey = fresh()
    const once = await billing.subscriptions.create({ customerKey: "eve", planIds: [free.id] }, { idempotencyKey })
    const again = await billing.subscriptions.create({ customerKey: "eve", planIds: [free.id] }, { idempotencyKey })
    expect(again.id).toBe(once.id)
    expect(
      await rejection(billing.subscriptions.create({ customerKey: "x", planExternalIds: ["none"] }))
    ).toBeInstanceOf(UnknownPlan)
    expect(await rejection(billing.subscriptions.create({ customerKey: "x" }))).toBeInstanceOf(InvalidInput)
    expect(await billing.usage.consume(subscription.id, { requests: 2 })).toMatchObject({
      meters: { requests: { used: 2, remaining: 0 } }
    })
    const over = await rejection(billing.usage.consume(subscription.id, { requests: 1 }))
    expect(over).toMatchObject({ code: "quota-exceeded", status: 429, meter: "requests", max: 2 })
    expect((await billing.usage.quotas(subscription.id)).meters["requests"]).toMatchObject({ used: 2 })
  })

  it("ensures one metering bucket for callers that race", async () => {
    const account = getAccount(fresh())
    const handles = await Promise.all(Array.from({ length: 8 }, () => account.meteringBuckets.ensure("default")))
    expect(new Set(handles.map(({ id }) => id)).size).toBe(1)
    expect((await account.meteringBuckets.list()).total).toBe(1)
  })

  it("rejects with an error that has a code, a status, and the caller's stack", async () => {
    const { consumers } = getAccount("acme").keyBucket(fresh())
    const error = await rejection(consumers.get("nobody"))
    expect(isTollgateError(error)).toBe(true)
    expect(error).toBeInstanceOf(TollgateError)
    expect(error).toMatchObject({ code: "consumer-not-found", status: 404, expose: true, consumer: "nobody" })
    const { stack = "" } = error as Error
    expect(stack.split("\n")[0]).toBe('ConsumerNotFound: Consumer "nobody" does not exist')
    expect(stack.split("\n")[1]).toContain("handles.test.ts")
    const printed = inspect(error)
    expect(printed).toContain("handles.test.ts")
    expect(printed).toContain("consumer: 'nobody'")
    expect(printed).not.toContain("node_modules/effect")
  })
})

describe.each(callers)("a handle %s", (_, getAccount) => {
  it("does not take a mistaken condition for none", async () => {
    const { consumers } = getAccount("acme").keyBucket(fresh())
    await consumers.create({ name: "alice", tags: { team: "red" } })
    const conditions = [
      { team: undefined },
      new Map([["team", "blue"]]),
      new Date(),
      Object.create({ team: "blue" }),
      JSON.parse('{"__proto__":"x"}')
    ].map((condition) => condition as never)
    for (const ifTags of conditions) {
      expect(await rejection(consumers.remove("alice", { ifTags }))).toMatchObject({ status: expect.any(Number) })
      expect(await rejection(consumers.update("alice", {}, { ifTags }))).toMatchObject({ status: expect.any(Number) })
      const listed = await consumers.list({ tags: ifTags }).catch(() => ({ total: 0 }))
      expect(listed.total).toBe(0)
    }
    expect(await rejection(consumers.remove("alice", { ifMatch: [] }))).toBeInstanceOf(InvalidInput)
    expect((await consumers.get("alice")).name).toBe("alice")
    expect(await rejection(consumers.update("alice", { metadata: new Map() as never }))).toBeInstanceOf(InvalidInput)
  })

  it("ensures no metering bucket without a name", async () => {
    const account = getAccount(fresh())
    await account.meteringBuckets.create()
    for (const name of [undefined, "", null].map((name) => name as never)) {
      expect(await rejection(account.meteringBuckets.ensure(name))).toBeInstanceOf(InvalidInput)
    }
    const options = { unknown: 1 } as object
    expect(await rejection(account.meteringBuckets.ensure("x", options))).toBeInstanceOf(InvalidInput)
    expect(await rejection(account.meteringBuckets.ensure("x", null as never))).toBeInstanceOf(InvalidInput)
    expect((await account.meteringBuckets.list()).total).toBe(1)
  })

  it("reads its options once", async () => {
    const { consumers } = getAccount("acme").keyBucket(fresh())
    for (const name of ["a", "b", "c"]) await consumers.create({ name, tags: { team: name === "b" ? "x" : "y" } })
    const options = { limit: 1, tags: { team: "y" } }
    const names: Array<string> = []
    for await (const { name } of consumers.list(options)) {
      names.push(name)
      options.tags.team = "x"
      options.limit = 100
    }
    expect(names).toEqual(["a", "c"])
  })

  it("works when it is frozen, and without stack traces", async () => {
    const account = Object.freeze(getAccount("acme"))
    expect(account.meteringBuckets).toBe(account.meteringBuckets)
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    try {
      const error = await rejection(account.keyBucket(fresh()).consumers.get("nobody"))
      expect((error as Error).stack?.split("\n")[0]).toMatch(/does not exist$/)
    } finally {
      Error.stackTraceLimit = limit
    }
  })

  it("does not reach what belongs to another account", async () => {
    const [acme, other] = [getAccount(fresh()), getAccount(fresh())]
    const bucket = await acme.meteringBuckets.create()
    const plan = await acme.meteringBucket(bucket.id).plans.create({ label: "p", meters: { requests: { max: 5 } } })
    const subscription = await acme
      .meteringBucket(bucket.id)
      .subscriptions.create({ customerKey: "alice", planIds: [plan.id] })
    const foreign = other.meteringBucket(bucket.id)
    const errors = [
      foreign.plans.list(),
      foreign.plans.update(plan.id, { label: "x" }),
      foreign.subscriptions.remove(subscription.id),
      foreign.usage.quotas(subscription.id),
      foreign.usage.consume(subscription.id, { requests: 1 }),
      foreign.usage.consume(subscription.id, { requests: 1 }, { idempotencyKey: "k" }),
      other.meteringBuckets.get(bucket.id),
      other.meteringBuckets.remove(bucket.id)
    ].map(rejection)
    for (const error of await Promise.all(errors)) expect(error).toBeInstanceOf(MeteringBucketNotFound)
    expect(await acme.meteringBuckets.get(bucket.id)).toMatchObject({ id: bucket.id })
    expect((await acme.meteringBucket(bucket.id).usage.quotas(subscription.id)).meters["requests"]?.used).toBe(0)
    expect((await other.meteringBuckets.list()).total).toBe(0)
  })
})

describe("a client", () => {
  const respond = async (handler: Parameters<typeof createServer>[1]) => {
    const other = createServer(handler)
    await new Promise<void>((resolve) => other.listen(0, resolve))
    return { url: `http://localhost:${(other.address() as AddressInfo).port}`, other }
  }

  it("sends one request for a call, with the account and project of its handle", async () => {
    const requests: Array<string> = []
    const { url, other } = await respond((req, res) => {
      const { "tollgate-account": account, "tollgate-project": project } = req.headers
      requests.push(`${req.method} ${req.url} ${account} ${project}`)
      toNodeHandler(gate)(req, res)
    })
    const bucket = await gate.account("acme").meteringBuckets.create()
    const client = createClient({ baseUrl: url, token, modules })
    await client.account("acme").meteringBucket(bucket.id).plans.list()
    const foreign = client.account("other")
    expect(await rejection(foreign.meteringBucket(bucket.id).plans.list())).toBeInstanceOf(MeteringBucketNotFound)
    await rejection(foreign.project("web").deployments.get("web-main-0123456789ab"))
    expect(requests.map((request) => request.replace(/\?\S*/, ""))).toEqual([
      `GET /v1/metering/${bucket.id}/plans acme undefined`,
      `GET /v1/metering/${bucket.id}/plans other undefined`,
      "GET /v1/deployments/web-main-0123456789ab other web"
    ])
    other.close()
  })

  it("does not follow a redirect, which would send a key to another server", async () => {
    let received = 0
    const target = await respond((_req, res) => {
      received++
      res.end("{}")
    })
    const source = await respond((_req, res) => res.writeHead(307, { location: `${target.url}/` }).end())
    const client = createClient({ baseUrl: source.url, token })
    expect(await rejection(client.account("acme").keyBucket("b").verify("tg_some_key"))).toMatchObject({
      code: "server-unreachable",
      outcome: "not-applied"
    })
    expect(received).toBe(0)
    target.other.close()
    source.other.close()
  })

  it("accepts an ETag that a proxy has made weak", async () => {
    const { url, other } = await respond(async (req, res) => {
      const chunks: Array<Uint8Array> = []
      for await (const chunk of req) chunks.push(chunk)
      const { authorization = "" } = req.headers
      const init = { method: req.method ?? "GET", headers: { authorization }, body: Buffer.concat(chunks) }
      const response = await gate.handler(new Request(`http://gate${req.url}`, init))
      res.writeHead(response.status, { "content-type": "application/json", etag: `W/${response.headers.get("etag")}` })
      res.end(await response.text())
    })
    const { consumers } = createClient({ baseUrl: url, token }).account("acme").keyBucket(fresh())
    expect((await consumers.create({ name: "alice" })).version).toBeGreaterThan(0)
    other.close()
  })

  it("refuses URLs that it cannot append paths to, and tokens that no header can carry", () => {
    for (const url of ["http://a/?q=1", "http://a/#x", "http://user:password@a", "ftp://a", "a", "http://a?"]) {
      expect(() => createClient({ baseUrl: url, token })).toThrow(/^baseUrl: must be/)
    }
    for (const bad of ["", "a b", "a\r\nb", "ä"]) {
      expect(() => createClient({ baseUrl, token: bad })).toThrow("token: must be a management token")
    }
  })
})
