/**
 * What limits the use of a key: `disabled`, `scopes` and the expiry, in one process and in several.
 */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { createTollgate, RecordUnreadable } from "@tollgate/core"
import { ApiKeys, Consumers, Tollgate } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { SqliteStore } from "@tollgate/sqlite"
import { Change, Store, type StoreOperations } from "@tollgate/store"
import { temporaryFolder } from "@tollgate/testing"
import { DateTime, Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { findMissingScopes } from "../src/keys/scopes.ts"
import { keyRecords } from "../src/records/keyRecords.ts"
import { RequiredScopes } from "../src/records/Scope.ts"
import { alice, bucket, ofAlice, partition } from "./alice.ts"
import { secret } from "./stores.ts"

describe("findMissingScopes", () => {
  it("compares whole names, and wildcards up to their colon", () => {
    const cases: ReadonlyArray<readonly [ReadonlyArray<string> | undefined, string, boolean]> = [
      [undefined, "orders:read", false],
      [[], "orders:read", false],
      [["orders:read"], "orders:read", true],
      [["orders:read"], "orders:write", false],
      [["orders:read"], "orders:read:all", false],
      [["orders"], "orders:read", false],
      [["orders:read"], "ORDERS:READ", false],
      [["orders:*"], "orders:read", true],
      [["orders:*"], "orders:read:all", true],
      [["orders:*"], "orders:", true],
      [["orders:*"], "orders", false],
      [["orders:*"], "orders-archive:read", false],
      [["orders:read:*"], "orders:read", false],
      [["users:*", "orders:*"], "orders:read", true],
      [["*"], "anything:at:all", true]
    ]
    for (const [granted, required, isGranted] of cases) {
      const label = `${JSON.stringify(granted)} for ${required}`
      assert.deepStrictEqual(findMissingScopes(granted, [required]), isGranted ? [] : [required], label)
    }
  })

  it("returns every missing scope in the order of the request", () => {
    assert.deepStrictEqual(findMissingScopes(["b:*", "c"], ["a", "b:1", "c", "d"]), ["a", "d"])
    assert.deepStrictEqual(findMissingScopes(undefined, []), [])
  })

  it("takes plain names only as required scopes", () => {
    const isRequired = Schema.is(RequiredScopes)
    assert.isTrue(isRequired(["orders:read", "x"]))
    for (const scopes of [["*"], ["orders:*"], [""], ["a", "a"], Array.from({ length: 51 }, (_, i) => `s${i}`)]) {
      assert.isFalse(isRequired(scopes), scopes.join())
    }
  })
})

const createKey = (fields: object = {}) =>
  Effect.gen(function* () {
    const consumers = yield* Consumers
    const { value } = yield* consumers.create({ params: bucket, payload: { name: alice, apiKeys: [fields] } })
    return value.apiKeys?.[0] ?? { id: "", key: "" }
  })
const check = (key = "") => Effect.flatMap(ApiKeys, (keys) => keys.verifyKey(bucket, key))
const checkReason = (key?: string) => Effect.map(check(key), (result) => (result.valid ? "valid" : result.reason))
const update = (keyId: string, payload: object) =>
  Effect.flatMap(ApiKeys, (keys) => keys.update({ params: { ...ofAlice, keyId }, payload }))
const atTime = (text: string) => DateTime.makeUnsafe(text)

describe("a check of a key", () => {
  it.effect("names the reason; a key that is disabled and expired counts as disabled", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const { id, key } = yield* createKey({ expiresOn: atTime("2030-01-02T00:00:00Z"), disabled: true })
      assert.strictEqual(yield* checkReason(key), "disabled-key")
      yield* TestClock.adjust("1 day")
      assert.strictEqual(yield* checkReason(key), "disabled-key")
      yield* update(id, { disabled: false })
      assert.strictEqual(yield* checkReason(key), "expired-key")
      yield* update(id, { expiresOn: null })
      assert.strictEqual(yield* checkReason(key), "valid")
      assert.strictEqual(yield* checkReason("unknown-but-well-formed"), "unknown-key")
      assert.strictEqual(yield* checkReason("tg_malformed"), "malformed-key")
    }).pipe(Effect.provide(Tollgate.layer({ secret }).pipe(Layer.provide(MemoryStore.layer))))
  )

  it("gives outsiders the same result for a disabled and for an unknown key, also from authorize", async () => {
    const gate = await createTollgate({ store: MemoryStore.open(), secret })
    const production = gate.account("acme").keyBucket("production")
    const { apiKeys } = await production.consumers.create({ name: "alice", apiKeys: [{ disabled: true }] })
    const key = apiKeys?.[0]?.key
    assert.deepStrictEqual(await production.verify(key ?? ""), await production.verify("unknown-but-well-formed"))
    assert.deepStrictEqual(await production.authorize(key), { allowed: false, reason: "disabled-key" })
    await gate.close()
  })

  it.effect("reads a field of that name in the text of another field as what it is", () =>
    Effect.gen(function* () {
      const { key } = yield* createKey({ description: '"disabled":true,"scopes":["*"],"expiresOn"' })
      const result = yield* check(key)
      assert.isTrue(result.valid)
      assert.notProperty(result, "scopes")
    }).pipe(Effect.provide(Tollgate.layer({ secret }).pipe(Layer.provide(MemoryStore.layer))))
  )
})

/** Two processes with a connection each to one SQLite file. */
const twoProcesses = (options: { readonly verifyCache?: { readonly ttl: number } } = {}) =>
  Effect.gen(function* () {
    const path = join(yield* temporaryFolder, "store.db")
    const start = () => Layer.build(Layer.fresh(Tollgate.layer({ secret, ...options })).pipe(Layer.provide(open())))
    const open = () => Layer.fresh(SqliteStore.layer(path))
    const [one, two] = [yield* start(), yield* start()]
    return [Effect.provide(one), Effect.provide(two)] as const
  })

describe("two processes on one SQLite file", () => {
  it.effect("agree at once on what limits a key", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const [inOne, inTwo] = yield* twoProcesses()
      const { id, key } = yield* inOne(createKey())
      assert.strictEqual(yield* inTwo(checkReason(key)), "valid")
      yield* inOne(update(id, { disabled: true }))
      assert.strictEqual(yield* inTwo(checkReason(key)), "disabled-key")
      yield* inOne(update(id, { disabled: false, scopes: ["a"] }))
      assert.deepInclude(yield* inTwo(check(key)), { valid: true, scopes: ["a"] })
      yield* inOne(update(id, { scopes: ["b", "c:*"] }))
      assert.deepInclude(yield* inTwo(check(key)), { valid: true, scopes: ["b", "c:*"] })
      yield* inTwo(update(id, { scopes: null, expiresOn: atTime("2030-01-01T00:00:00Z") }))
      assert.strictEqual(yield* inOne(checkReason(key)), "expired-key")
    })
  )

  it.effect("agree within the ttl of the verify cache; what was refused is not cached", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const [inOne, inTwo] = yield* twoProcesses({ verifyCache: { ttl: 1_000 } })
      const { id, key } = yield* inOne(createKey({ scopes: ["a"] }))
      assert.deepInclude(yield* inTwo(check(key)), { valid: true, scopes: ["a"] })
      yield* inOne(update(id, { scopes: ["b"] }))
      assert.deepInclude(yield* inOne(check(key)), { valid: true, scopes: ["b"] })
      assert.deepInclude(yield* inTwo(check(key)), { valid: true, scopes: ["a"] })
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* inTwo(check(key)), { valid: true, scopes: ["b"] })
      yield* inOne(update(id, { disabled: true }))
      assert.strictEqual(yield* inOne(checkReason(key)), "disabled-key")
      assert.strictEqual(yield* inTwo(checkReason(key)), "valid")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* inTwo(checkReason(key)), "disabled-key")
      yield* inOne(update(id, { disabled: false }))
      assert.strictEqual(yield* inTwo(checkReason(key)), "valid")
      yield* inOne(update(id, { expiresOn: atTime("2030-01-01T00:00:00Z") }))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* inTwo(checkReason(key)), "expired-key")
    })
  )
})

describe("the record of a key", () => {
  const services = (store: StoreOperations) =>
    Tollgate.layer({ secret }).pipe(Layer.provide(Layer.succeed(Store, store)))

  it.effect("is refused in a format of the future, by a check too", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const inProcess = Effect.provide(yield* Layer.build(services(store)))
      const { id, key } = yield* inProcess(createKey())
      const [record] = yield* store.get(partition, [`key/${id}`])
      if (record === undefined) return assert.fail("no record")
      const { version, body, ...rest } = record
      yield* store.commit(partition, [Change.Put({ ...rest, expect: version, body: `5${body.slice(1)}` })])
      assert.instanceOf(yield* Effect.flip(inProcess(check(key))), RecordUnreadable)
    })
  )

  it("is not parsed by a check if nothing limits the key", () => {
    const record = (body: string) => ({ key: "key/x", version: 1, body, indexTerms: [], uniqueKeys: [] })
    const fields = ["expiresOn", "disabled", "scopes", "ipAllow"]
    assert.isTrue(keyRecords.lacksFields(record('4 {"id":"x"}'), fields))
    for (const body of [
      '4 {"expiresOn":1}',
      '4 {"scopes":[]}',
      '4 {"disabled":true}',
      '4 {"ipAllow":["::1"]}',
      '2 {"id":"x"}',
      '5 {"id":"x"}',
      '4 {"id":',
      "{}"
    ]) {
      assert.isFalse(keyRecords.lacksFields(record(body), fields), body)
    }
  })
})
