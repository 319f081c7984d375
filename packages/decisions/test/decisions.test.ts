/**
 * Why requests were refused, and how many were allowed and refused, on every store.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { type ObservedDecision, removeDue, SecretBox } from "@tollgate/core/module"
import { type DecisionsModule, decisions } from "@tollgate/decisions"
import { decisionsClient } from "@tollgate/decisions/client"
import { toNodeHandler } from "@tollgate/node"
import { makeAuthorizeRequest } from "@tollgate/protect"
import { Store, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { Context, DateTime, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { makeClient } from "../../core/test/http/client.ts"
import { secret, stores } from "../../core/test/stores.ts"
import { DecisionNotes } from "../src/DecisionNotes.ts"
import { RefusalBudget } from "../src/RefusalBudget.ts"
import { findRemoval, getStatsPartition, refusalRecords, removals } from "../src/refusalRecords.ts"
import { writeNotes } from "../src/writeNotes.ts"

const supportToken = "a-token-of-support-for-tests"
const readToken = "a-token-that-may-read-for-tests"

const openGate = (store: StoreOperations) =>
  createTollgate({
    store,
    secret,
    modules: [decisions()],
    tokens: [
      { token: supportToken, account: "*", permissions: ["support"] },
      { token: readToken, account: "*", access: "read" }
    ]
  })

type Gate = Tollgate<DecisionsModule>

let count = 0
const freshAccount = () => `account-${++count}`

/** A request to a protected route, from an address, with an id. */
const request = (key: string, requestId: string, ip = "203.0.113.7") => ({
  header: (name: string) => ({ authorization: `Bearer ${key}`, "x-request-id": requestId })[name],
  query: () => undefined,
  ip: () => ip,
  route: () => "GET /orders/:id"
})

const now = Date.UTC(2030, 0, 1, 12)
const secretBox = Effect.runSync(
  Effect.provide(SecretBox, SecretBox.layer({ secrets: [Redacted.make(secret)], prefix: "tg" }))
)

const toDecision = (
  result: ObservedDecision["result"],
  { accountName = "acme", key = "a-key-that-does-not-exist", ip = "203.0.113.7", requestId = "request", at = now } = {}
): ObservedDecision => ({
  bucket: { accountName, bucketName: "production" } as ObservedDecision["bucket"],
  key,
  result,
  owner: ("consumer" in result ? result : undefined) as ObservedDecision["owner"],
  now: at,
  source: { ip, requestId: () => requestId }
})

const makeNotes = (accountName: string, budget = new RefusalBudget()) =>
  new DecisionNotes({ accountName, bucketName: "production" } as ObservedDecision["bucket"], secretBox, budget)

const unknownKey = { allowed: false, reason: "unknown-key" } as const
const missingScope = (consumerId: string, keyId: string) =>
  ({
    allowed: false,
    reason: "missing-scope",
    scopes: ["orders:read"],
    keyId,
    consumer: { id: consumerId, name: "alice", tags: {}, metadata: {} }
  }) as unknown as ObservedDecision["result"]

describe.each(stores)("decisions, on %s", (_, layer) => {
  const scope = Scope.makeUnsafe()
  const opened: { store?: StoreOperations } = {}
  beforeAll(async () => {
    opened.store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const store = () => opened.store as StoreOperations

  /** Calls a gate, and closes it, which writes what it has noted. */
  const withGate = async <A>(use: (gate: Gate) => Promise<A>): Promise<A> => {
    const gate = await openGate(store())
    try {
      return await use(gate)
    } finally {
      await gate.close()
    }
  }

  const write = (notes: DecisionNotes, accountName: string, inStore = store()) =>
    Effect.provideService(writeNotes(getStatsPartition(accountName, "production"), notes), Store, inStore)

  const page = (accountName: string, ...where: ReadonlyArray<string>) =>
    Effect.runPromise(
      Effect.provideService(
        refusalRecords.page(getStatsPartition(accountName, "production"), {
          where,
          offset: 0,
          limit: 1_000,
          descending: true
        }),
        Store,
        store()
      )
    )

  it("are found by the id of the request, by consumer and by reason, in process, over HTTP and by the client", async () => {
    const account = freshAccount()
    const key = await withGate(async (gate) => {
      const production = gate.account(account).keyBucket("production")
      const { apiKeys = [] } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
      const [{ key = "" } = {}] = apiKeys
      const authorize = makeAuthorizeRequest(production, { scopes: ["orders:read"] })
      expect(await authorize(request(key, "first"), {})).toMatchObject({ allowed: false, status: 403 })
      expect(await authorize(request(key, "second"), {})).toMatchObject({ allowed: false, status: 403 })
      expect(await authorize(request("made-up", "third"), {})).toMatchObject({ allowed: false, status: 401 })
      expect((await production.authorize(key)).allowed).toBe(true)
      return { ...apiKeys[0], value: key }
    })

    await withGate(async (gate) => {
      const { decisions } = gate.account(account)
      const found = await decisions.list("production", { requestId: "second" })
      const entry = {
        on: expect.any(String),
        reason: "missing-scope",
        keyId: key.id,
        consumerName: "alice",
        route: "GET /orders/:id",
        ip: "203.0.113.7"
      }
      expect(found.data).toEqual([
        { ...entry, count: expect.any(Number), requestIds: expect.arrayContaining(["second"]) }
      ])
      expect(found).toMatchObject({ limit: 1_000, offset: 0, total: 1, kept: { since: expect.any(String) } })
      const ofAlice = await decisions.listOfConsumer("production", "alice", { reason: "missing-scope", keyId: key.id })
      expect(ofAlice.data.reduce((sum, { count }) => sum + count, 0)).toBe(2)
      expect((await decisions.list("production", { reason: "unknown-key" })).data).toEqual([])
      const [madeUp] = (await decisions.list("production", { reason: "malformed-key" })).data
      expect(madeUp).toMatchObject({ count: 1, requestIds: ["third"], keyHint: expect.stringMatching(/^[\w-]{12}$/) })
      expect(JSON.stringify(await decisions.list("production"))).not.toContain(key.value)
      await expect(decisions.listOfConsumer("production", "bob")).rejects.toMatchObject({ code: "consumer-not-found" })

      const http = makeClient(gate.handler)
      const path = `/v1/accounts/${account}/key-buckets/production`
      const response = await http("GET", `${path}/decisions?requestId=second`, { token: supportToken })
      expect(response.body).toEqual({ ...found, kept: { since: expect.any(String) } })
      const refused = await http("GET", `${path}/decisions`, { token: readToken })
      expect([refused.status, refused.body.permission]).toEqual([403, "decisions:read"])
      expect((await http("GET", `${path}/decisions?reason=none`, { token: supportToken })).status).toBe(400)

      const server = createServer(toNodeHandler(gate)).listen(0, "127.0.0.1")
      await once(server, "listening")
      onTestFinished(() => void server.close())
      const client = createClient({
        baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        token: supportToken,
        modules: [decisionsClient]
      })
      expect(await client.account(account).decisions.listOfConsumer("production", "alice")).toMatchObject({
        data: ofAlice.data
      })

      const { data } = await decisions.outcomes("production", { step: "hour" })
      const sums = data.reduce(
        ({ allowed, refused }, step) => ({
          allowed: allowed + step.allowed,
          refused: refused + Object.values(step.refused).reduce((sum, count = 0) => sum + count, 0)
        }),
        { allowed: 0, refused: 0 }
      )
      expect(sums).toEqual({ allowed: 1, refused: 3 })
      const ofConsumer = await decisions.outcomes("production", { consumer: "alice" })
      expect(ofConsumer.data).toHaveLength(30)
      expect(ofConsumer.data.reduce((sum, { allowed }) => sum + allowed, 0)).toBe(1)
      expect(ofConsumer.data.reduce((sum, { refused }) => sum + (refused["missing-scope"] ?? 0), 0)).toBe(2)
      await expect(decisions.outcomes("production", { consumer: "alice", step: "hour" })).rejects.toMatchObject({
        status: 400
      })
    })
  })

  it("tell support why a key that is disabled does not work, and whose it is", async () => {
    const account = freshAccount()
    const id = await withGate(async (gate) => {
      const production = gate.account(account).keyBucket("production")
      const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
      await production.keys.update("alice", apiKeys[0].id, { disabled: true })
      const authorize = makeAuthorizeRequest(production)
      expect(await authorize(request(apiKeys[0].key ?? "", "of-alice"), {})).toMatchObject({ status: 401 })
      return apiKeys[0].id
    })
    await withGate(async (gate) => {
      const refusal = { reason: "disabled-key", keyId: id, consumerName: "alice", requestIds: ["of-alice"] }
      const { decisions } = gate.account(account)
      expect((await decisions.list("production", { requestId: "of-alice" })).data).toMatchObject([refusal])
      expect((await decisions.listOfConsumer("production", "alice")).data).toMatchObject([refusal])
    })
  })

  it("have the address that authorize was given, of which a limited number is kept", async () => {
    const account = freshAccount()
    await withGate(async (gate) => {
      const production = gate.account(account).keyBucket("production")
      await production.consumers.create({ name: "alice" })
      for (let index = 0; index < 60; index++) await production.authorize(`made-up-${index}`, { ip: "203.0.113.9" })
    })
    const ofPeer = await page(account, "peer:203.0.113.9")
    expect([ofPeer.total, ofPeer.entries[0]?.value.ip]).toEqual([50, "203.0.113.9"])
  })

  it("are written while the process runs", async () => {
    const account = freshAccount()
    await withGate(async (gate) => {
      const { decisions, keyBucket } = gate.account(account)
      await keyBucket("production").consumers.create({ name: "alice" })
      await keyBucket("production").authorize("made-up")
      await expect.poll(async () => (await decisions.list("production")).total).toBe(1)
    })
  })

  it("that are alike are one entry a minute, whichever process has refused them", async () => {
    const account = freshAccount()
    const processes = [makeNotes(account), makeNotes(account)]
    for (let index = 0; index < 30; index++) {
      const requestId = `request-${String(index).padStart(2, "0")}`
      processes[Math.floor(index / 15)]?.note(
        toDecision(missingScope("alice", "key_1"), { requestId, at: now + index })
      )
    }
    processes[0]?.note(toDecision(missingScope("alice", "key_2"), { requestId: "other-key" }))
    processes[0]?.note(toDecision(missingScope("alice", "key_1"), { requestId: "later", at: now + 60_000 }))
    for (const notes of processes) await Effect.runPromise(write(notes, account))
    const { entries } = await page(account)
    const ofMinute = entries.map(({ value }) => value).find(({ count }) => count > 1)
    expect(entries).toHaveLength(3)
    expect(ofMinute).toMatchObject({ count: 30, on: DateTime.makeUnsafe(now) })
    const ids = [0, 1, 2, 3, 4, 25, 26, 27, 28, 29].map((index) => `request-${String(index).padStart(2, "0")}`)
    expect(ofMinute?.requestIds).toEqual(ids)
  })

  it("of a flood are bounded, by address, without a consumer, and by consumer, and push no other out", async () => {
    const account = freshAccount()
    const notes = makeNotes(account)
    const flood = async (ofIndex: (index: number) => ObservedDecision, total: number) => {
      for (let index = 0; index < total; index++) {
        notes.note(ofIndex(index))
        if (index % 500 === 499) await Effect.runPromise(write(notes, account))
      }
      await Effect.runPromise(write(notes, account))
    }
    notes.note(toDecision(missingScope("bob", "key_3"), { requestId: "of-bob" }))
    notes.note(toDecision(unknownKey, { ip: "198.51.100.1", requestId: "of-a-stranger" }))
    const hostile = "2001:db8::"
    await flood(
      (index) => toDecision(unknownKey, { key: `made-up-${index}`, ip: `${hostile}${index.toString(16)}` }),
      2_000
    )
    await flood((index) => toDecision(missingScope("alice", `key_a${index}`), { requestId: `alice-${index}` }), 700)
    expect((await page(account, "peer:2001:db8:0:0::/64")).total).toBe(50)
    const ofAlice = await page(account, "consumer:alice")
    expect(ofAlice.total).toBe(100)
    expect((await page(account, "consumer:bob")).entries[0]?.value.requestIds).toEqual(["of-bob"])
    expect((await page(account, "request:of-a-stranger")).total).toBe(1)
    const toAddress = (index: number) => `10.${index % 250}.${Math.floor(index / 250)}.1`
    await flood((index) => toDecision(unknownKey, { key: `from-all-over-${index}`, ip: toAddress(index) }), 2_500)
    expect((await page(account, "without-consumer")).total).toBe(1_000)
    expect((await page(account, "consumer:bob")).total).toBe(1)
  })

  it("of an account leave room for those of others, and are not kept of buckets that do not exist", async () => {
    const [hostile, other] = [freshAccount(), freshAccount()]
    const budget = new RefusalBudget()
    const ofBuckets = Array.from({ length: 10 }, () => makeNotes(hostile, budget))
    for (const notes of ofBuckets) {
      for (let index = 0; index < 900; index++) {
        notes.note(
          toDecision(unknownKey, { key: `made-up-${index}`, ip: `10.0.${index % 250}.${Math.floor(index / 250)}` })
        )
      }
    }
    const noted = () => ofBuckets.reduce((sum, notes) => sum + notes.take().refusals.size, 0)
    const notes = makeNotes(other, budget)
    notes.note(toDecision(missingScope("alice", "key_1")))
    expect(notes.take().refusals.size).toBe(1)
    expect(noted()).toBe(5_000)
    expect(noted()).toBe(0)
    await withGate(async (gate) => {
      for (let index = 0; index < 50; index++) {
        await gate.account(hostile).keyBucket(`made-up-${index}`).authorize("made-up")
      }
    })
    const counters = await Effect.runPromise(
      store().counters(getStatsPartition(hostile, "made-up-7"), [
        `day:${Math.floor(Date.now() / 86_400_000)}:malformed-key`
      ])
    )
    expect(counters).toEqual([0])
    await withGate(async (gate) => expect((await gate.account(hostile).decisions.list("made-up-7")).total).toBe(0))
  })

  it("that could not be written are written later", async () => {
    const account = freshAccount()
    const notes = makeNotes(account)
    notes.note(toDecision(missingScope("alice", "key_1"), { requestId: "before" }))
    const unavailable = new StoreUnavailable({
      operation: "commit",
      problem: "gone",
      retryable: true,
      outcome: "not-applied",
      cause: undefined
    })
    const exit = await Effect.runPromiseExit(
      write(notes, account, { ...store(), commit: Object.assign(() => Effect.fail(unavailable), store().commit) })
    )
    expect(Exit.isFailure(exit)).toBe(true)
    notes.note(toDecision(missingScope("alice", "key_1"), { requestId: "after" }))
    await Effect.runPromise(write(notes, account))
    expect(notes.isEmpty).toBe(true)
    const { entries } = await page(account)
    expect(entries.map(({ value: { count, requestIds } }) => ({ count, requestIds }))).toEqual([
      { count: 2, requestIds: ["before", "after"] }
    ])
    const counters = await Effect.runPromise(
      store().counters(getStatsPartition(account, "production"), [`day:${Math.floor(now / 86_400_000)}:missing-scope`])
    )
    expect(counters).toEqual([2])
  })

  it("are removed after seven days", async () => {
    const account = freshAccount()
    const partition = getStatsPartition(account, "production")
    const notes = makeNotes(account)
    notes.note(toDecision(missingScope("alice", "key_1")))
    await Effect.runPromise(write(notes, account))
    const removeAt = (millis: number) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(millis)
        return yield* removeDue(refusalRecords, removals, findRemoval, partition)
      }).pipe(Effect.provide(TestClock.layer()), Effect.provideService(Store, store()), Effect.runPromise)
    const end = now + 7 * 86_400_000
    await removeAt(end - 1)
    expect((await page(account)).total).toBe(1)
    await removeAt(end)
    expect((await page(account)).total).toBe(0)
  })
})
