/**
 * When keys were last used: noted in memory, written in batches in the background and on close.
 */

import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { createTollgate } from "@tollgate/core"
import { ApiKeys, ConsumerName, Consumers, KeyId, type ServiceOptions, Tollgate } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { SqliteStore } from "@tollgate/sqlite"
import { type Change, Store, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { eventually, temporaryFolder, waitForEvents } from "@tollgate/testing"
import { Cause, Context, DateTime, Effect, Exit, Layer, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { KeyUse } from "../src/keys/KeyUse.ts"
import { alice, bucket, ofAlice, partition } from "./alice.ts"
import { grants, secret, stores, tokens } from "./stores.ts"

/** A store that counts the commits of uses and the reads of counters, and can be unavailable. */
const observe = (store: StoreOperations) => {
  const commits: Array<ReadonlyArray<Change>> = []
  const state = { commits, counterReads: 0, isUnavailable: false }
  const unavailable = new StoreUnavailable({
    operation: "commit",
    problem: "gone",
    retryable: true,
    outcome: "not-applied",
    cause: new Error("a cause that quotes stored data")
  })
  const observed: StoreOperations = {
    ...store,
    counters: (...args) => {
      state.counterReads++
      return store.counters(...args)
    },
    commit: (partition, changes, idempotency) =>
      Effect.suspend(() => {
        const isUse = changes.some(({ _tag }) => _tag === "Raise")
        if (isUse) commits.push(changes)
        return isUse && state.isUnavailable ? Effect.fail(unavailable) : store.commit(partition, changes, idempotency)
      })
  }
  return { store: observed, state }
}

/** Starts a process on a store. `close` ends it; otherwise it ends with the test. */
const startProcess = (store: StoreOperations, options: Partial<Omit<ServiceOptions, "modules">> = {}) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const layer = Tollgate.layer({ secret, ...options }).pipe(Layer.provide(Layer.succeed(Store, store)))
    const inProcess = Effect.provide(yield* Layer.buildWithScope(Layer.fresh(layer), scope))
    return { inProcess, close: Scope.close(scope, Exit.void) }
  })

const createKeys = (count: number) =>
  Effect.gen(function* () {
    yield* (yield* Consumers).create({ params: bucket, payload: { name: alice } })
    const page = yield* (yield* ApiKeys).createMany({
      params: ofAlice,
      payload: Array.from({ length: count }, () => ({}))
    })
    return page.data.map(({ id, key = "" }) => ({ id, key }))
  })
const check = (key = "") => Effect.flatMap(ApiKeys, (keys) => keys.verifyKey(bucket, key))
const getKey = (keyId: string) => Effect.flatMap(ApiKeys, (keys) => keys.get({ params: { ...ofAlice, keyId } }))
const getLastUse = (keyId: string) =>
  Effect.map(getKey(keyId), ({ value }) => value.lastUsedOn && DateTime.formatIso(value.lastUsedOn))

const toId = (index: number) => `key_${String(index).padStart(24, "0")}`

const start = Date.UTC(2030, 0, 1, 12, 0, 5)

describe("lastUsedOn", () => {
  it.effect("is absent until the first use, and is written within 15 seconds, in one commit for many checks", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { store, state } = observe(MemoryStore.open())
      const { inProcess } = yield* startProcess(store)
      const keys = yield* inProcess(createKeys(3))
      const [first, second, unused] = keys
      yield* Effect.forEach(Array.from({ length: 100 }), () => inProcess(check(first?.key)))
      yield* inProcess(check(second?.key))
      yield* inProcess(check("unknown-but-well-formed"))
      assert.strictEqual(state.commits.length, 0)
      assert.isUndefined(yield* inProcess(getLastUse(first?.id ?? "")))
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(state.commits.length, 1)
      const lastUses = yield* Effect.forEach(keys, ({ id }) => inProcess(getLastUse(id)))
      assert.deepStrictEqual(lastUses, ["2030-01-01T12:00:00.000Z", "2030-01-01T12:00:00.000Z", undefined])
      assert.isDefined(unused)
    })
  )

  it.effect("costs a busy key one write a minute, and an idle process none", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { store, state } = observe(MemoryStore.open())
      const { inProcess } = yield* startProcess(store)
      const [key] = yield* inProcess(createKeys(1))
      for (let second = 0; second < 180; second++) {
        yield* inProcess(check(key?.key))
        yield* TestClock.adjust("1 second")
      }
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(state.commits.length, 4)
      assert.strictEqual(yield* inProcess(getLastUse(key?.id ?? "")), "2030-01-01T12:03:00.000Z")
      yield* TestClock.adjust("1 day")
      assert.strictEqual(state.commits.length, 4)
    })
  )

  it.effect("is set by checks that the verify cache answers, but not by refused ones", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { store, state } = observe(MemoryStore.open())
      const { inProcess } = yield* startProcess(store, { verifyCache: { ttl: 3_600_000 } })
      const [cached, disabled, expired] = yield* inProcess(createKeys(3))
      const update = (keyId = "", payload: object = {}) =>
        inProcess(Effect.flatMap(ApiKeys, (keys) => keys.update({ params: { ...ofAlice, keyId }, payload })))
      yield* update(disabled?.id, { disabled: true })
      yield* update(expired?.id, { expiresOn: DateTime.makeUnsafe("2029-01-01T00:00:00Z") })
      const checkAll = Effect.forEach([cached, disabled, expired], (key) => inProcess(check(key?.key)))
      yield* checkAll
      yield* TestClock.adjust("5 minutes")
      yield* checkAll
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(yield* inProcess(getLastUse(cached?.id ?? "")), "2030-01-01T12:05:00.000Z")
      assert.isUndefined(yield* inProcess(getLastUse(disabled?.id ?? "")))
      assert.isUndefined(yield* inProcess(getLastUse(expired?.id ?? "")))
      assert.strictEqual(state.commits.length, 2)
    })
  )

  it.effect("is written when a process ends, and never moves backwards", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { store, state } = observe(MemoryStore.open())
      const [slow, fast, reader] = [yield* startProcess(store), yield* startProcess(store), yield* startProcess(store)]
      const [key] = yield* slow.inProcess(createKeys(1))
      yield* slow.inProcess(check(key?.key))
      yield* TestClock.setTime(start + 60_000 * 2)
      yield* fast.inProcess(check(key?.key))
      yield* fast.close
      const latest = "2030-01-01T12:02:00.000Z"
      assert.strictEqual(yield* reader.inProcess(getLastUse(key?.id ?? "")), latest)
      yield* TestClock.setTime(start)
      const behind = yield* startProcess(store)
      yield* behind.inProcess(check(key?.key))
      yield* behind.close
      yield* slow.close
      assert.isAtLeast(state.commits.length, 2)
      assert.strictEqual(yield* reader.inProcess(getLastUse(key?.id ?? "")), latest)
    })
  )

  it.effect("changes neither the version nor updatedOn of a key, and is forgotten after 400 days", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { inProcess } = yield* startProcess(MemoryStore.open())
      const [key] = yield* inProcess(createKeys(1))
      const { id = "" } = key ?? {}
      const before = yield* inProcess(getKey(id))
      yield* inProcess(check(key?.key))
      yield* TestClock.adjust("15 seconds")
      const { value, version } = yield* inProcess(getKey(id))
      const { lastUsedOn, ...rest } = value
      assert.isDefined(lastUsedOn)
      assert.deepStrictEqual({ value: rest, version }, before)
      const headers = { ifMatch: [before.version] }
      const update = Effect.flatMap(ApiKeys, (keys) =>
        keys.update({ params: { ...ofAlice, keyId: id }, headers, payload: { description: "new" } })
      )
      assert.deepStrictEqual((yield* inProcess(update)).value.lastUsedOn, lastUsedOn)
      yield* TestClock.adjust("399 days")
      assert.isDefined(yield* inProcess(getLastUse(id)))
      yield* TestClock.adjust("1 day")
      assert.isUndefined(yield* inProcess(getLastUse(id)))
    })
  )

  it.effect("is read in one store call for a page of keys, or of consumers with their keys", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { store, state } = observe(MemoryStore.open())
      const { inProcess } = yield* startProcess(store)
      const keys = yield* inProcess(createKeys(50))
      const bob = ConsumerName.make("bob")
      const created = yield* inProcess(
        Effect.flatMap(Consumers, (consumers) =>
          consumers.create({ params: bucket, payload: { name: bob, apiKeys: [{}, {}] } })
        )
      )
      const [ofBob] = created.value.apiKeys ?? []
      yield* inProcess(check(keys[49]?.key))
      yield* inProcess(check(ofBob?.key))
      yield* TestClock.adjust("15 seconds")
      const page = { limit: 100, offset: 0 }
      const list = Effect.flatMap(ApiKeys, (keys) => keys.list({ params: ofAlice, query: page }))
      const consumers = Effect.flatMap(Consumers, (consumers) =>
        consumers.list({ params: bucket, query: { ...page, apiKeys: true } })
      )
      const used = (keys: ReadonlyArray<{ readonly lastUsedOn?: DateTime.Utc }> = []) =>
        keys.flatMap(({ lastUsedOn }, index) => (lastUsedOn === undefined ? [] : [index]))
      state.counterReads = 0
      assert.deepStrictEqual(used((yield* inProcess(list)).data), [49])
      assert.strictEqual(state.counterReads, 1)
      const { data } = yield* inProcess(consumers)
      assert.deepStrictEqual(
        data.map(({ apiKeys }) => used(apiKeys)),
        [[49], [0]]
      )
      assert.deepStrictEqual(
        data.map(({ apiKeys }) => apiKeys?.length),
        [50, 2]
      )
      assert.strictEqual(state.counterReads, 2)
      const listWithoutKeys = Effect.flatMap(Consumers, (consumers) => consumers.list({ params: bucket, query: page }))
      yield* inProcess(listWithoutKeys)
      yield* inProcess(
        Effect.flatMap(ApiKeys, (keys) => keys.list({ params: ofAlice, query: { ...page, offset: 50 } }))
      )
      assert.strictEqual(state.counterReads, 2)
    })
  )

  it.effect("survives a store that is unavailable: no request fails, one warning is logged", () => {
    const warnings: Array<string> = []
    const logger = Logger.make(({ logLevel, message, cause }) => {
      if (logLevel === "Warn") warnings.push(`${message} ${Cause.pretty(cause)}`)
    })
    return Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { store, state } = observe(MemoryStore.open())
      const { inProcess } = yield* startProcess(store)
      const [key] = yield* inProcess(createKeys(1))
      state.isUnavailable = true
      assert.isTrue((yield* inProcess(check(key?.key))).valid)
      yield* TestClock.adjust("1 minute")
      assert.isTrue((yield* inProcess(check(key?.key))).valid)
      yield* TestClock.adjust("1 minute")
      assert.isAtLeast(state.commits.length, 3)
      assert.strictEqual(warnings.length, 1)
      state.isUnavailable = false
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(yield* inProcess(getLastUse(key?.id ?? "")), "2030-01-01T12:01:00.000Z")
      assert.strictEqual(warnings.length, 1)
      state.isUnavailable = true
      yield* inProcess(check(key?.key))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(warnings.length, 2)
      assert.notInclude(warnings.join(), "quotes stored data")
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  it.effect("is written in commits of a bounded size", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { store, state } = observe(MemoryStore.open())
      const { inProcess } = yield* startProcess(store)
      const keys = yield* inProcess(createKeys(501))
      yield* Effect.forEach(keys, ({ key }) => inProcess(check(key)))
      yield* TestClock.adjust("15 seconds")
      assert.isAbove(state.commits.length, 1)
      assert.isAtMost(Math.max(...state.commits.map(({ length }) => length)), 200)
      assert.strictEqual(state.commits.flat().length, 501)
      const names = keys.map(({ id }) => `used:${id}`)
      const minutes = yield* store.counters(partition, names)
      assert.deepStrictEqual([...new Set(minutes)], [Math.floor(start / 60_000)])
    })
  )
})

describe("KeyUse", () => {
  it.effect("notes a limited number of keys while the store is unavailable", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { store, state } = observe(MemoryStore.open())
      state.isUnavailable = true
      const context = yield* Layer.build(KeyUse.layer.pipe(Layer.provide(Layer.succeed(Store, store))))
      const keyUse = Context.get(context, KeyUse)
      for (let index = 0; index < 100_001; index++) keyUse.note(partition, KeyId.make(toId(index)), start)
      yield* TestClock.adjust("15 seconds")
      state.isUnavailable = false
      state.commits.length = 0
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(state.commits.flat().length, 100_000)
      keyUse.note(partition, KeyId.make(toId(100_001)), start)
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(state.commits.flat().length, 100_001)
    })
  )
})

describe("a store that does not respond", () => {
  it.effect("delays the end of a process by seconds at most", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const store = MemoryStore.open()
      let isHanging = false
      const hanging: StoreOperations = {
        ...store,
        commit: (...args) => Effect.suspend(() => (isHanging ? Effect.never : store.commit(...args)))
      }
      const { inProcess, close } = yield* startProcess(hanging)
      const [key] = yield* inProcess(createKeys(1))
      yield* inProcess(check(key?.key))
      // Otherwise the end of the process waits for them first.
      yield* waitForEvents(store)
      isHanging = true
      const closing = yield* Effect.forkChild(close, { startImmediately: true })
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("1 second")
      // Background work tells the other processes on the real clock what it leaves, and tries for 2 seconds.
      yield* Effect.promise(() => eventually(() => assert.isDefined(closing.pollUnsafe())))
    })
  )
})

describe.each(stores)("lastUsedOn on %s", (_, store) => {
  it.effect("is the same in every process after the first has ended", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const shared = yield* Effect.provide(Store, yield* Layer.build(store))
      const [first, second] = [yield* startProcess(shared), yield* startProcess(shared)]
      const [key] = yield* first.inProcess(createKeys(1))
      yield* first.inProcess(check(key?.key))
      assert.isUndefined(yield* second.inProcess(getLastUse(key?.id ?? "")))
      yield* first.close
      assert.strictEqual(yield* second.inProcess(getLastUse(key?.id ?? "")), "2030-01-01T12:00:00.000Z")
    })
  )
})

describe("close()", () => {
  const toMinute = (time: number) => new Date(Math.floor(time / 60_000) * 60_000).toISOString()

  it.live("writes the last uses, also to a store that is a layer, and shows them over HTTP", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "store.db")
      const open = () => createTollgate({ store: SqliteStore.layer(path), secret, tokens: grants })
      yield* Effect.promise(async () => {
        const request = (gate: Awaited<ReturnType<typeof open>>, url: string, body?: object) =>
          gate.handler(
            new Request(`http://gate/v1/accounts/acme/key-buckets/production${url}`, {
              headers: { authorization: `Bearer ${tokens.writer}` },
              ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
            })
          )
        const first = await open()
        const { consumers, authorize } = first.account("acme").keyBucket("production")
        const { apiKeys } = await consumers.create({ name: "alice", apiKeys: [{}, {}, {}] })
        const [overHttp, inProcess, unused] = apiKeys ?? []
        const earliest = Date.now()
        await request(first, "/$verify", { key: overHttp?.key })
        await authorize(inProcess?.key)
        const latest = Date.now()
        await first.close()
        const second = await open()
        const responses = await Promise.all(
          [overHttp, inProcess, unused].map((key) => request(second, `/consumers/alice/keys/${key?.id}`))
        )
        const [one, two, three] = (await Promise.all(responses.map((response) => response.json()))) as Array<object>
        for (const key of [one, two]) {
          const { lastUsedOn } = key as { readonly lastUsedOn?: string }
          assert.include([toMinute(earliest), toMinute(latest)], lastUsedOn)
        }
        assert.notProperty(three, "lastUsedOn")
        await second.close()
      })
    })
  )
})
