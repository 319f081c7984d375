/**
 * The keys that a process found valid lately: for an hour, until they expire, and until a check finds them invalid.
 */
import { assert, describe, it } from "@effect/vitest"
import { ApiKeys, Consumers, makeAuthorize, Reservations, Tollgate, Usage } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { Store, StoreUnavailable } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall, measureHeapAfterGc } from "@tollgate/testing"
import { Clock, DateTime, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { SecretBox } from "../../store/src/crypto/SecretBox.ts"
import type { TrustedClock } from "../../store/src/runtime/TrustedClock.ts"
import { RecentKeys } from "../src/keys/RecentKeys.ts"
import { alice, bucket, ofAlice, partition } from "./alice.ts"
import { secret } from "./stores.ts"

const layer = Tollgate.layer({ secret }).pipe(Layer.provide(MemoryStore.layer))

const createKey = (fields: object = {}) =>
  Effect.gen(function* () {
    const { value } = yield* (yield* ApiKeys).create({ params: ofAlice, payload: fields })
    return { id: value.id, key: value.key ?? "" }
  })
const check = (key: string) => Effect.flatMap(ApiKeys, (keys) => keys.verifyKey(bucket, key))
const isRecent = (key: string, scopes: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    return (yield* ApiKeys).recentKeys.has(bucket, key, scopes, yield* Clock.Clock)
  })
const setUp = Effect.gen(function* () {
  yield* (yield* Consumers).create({ params: bucket, payload: { name: alice } })
  ;(yield* ApiKeys).recentKeys.enable()
})

describe("a key that was found valid", () => {
  it.effect("is known for an hour after its last check", () =>
    Effect.gen(function* () {
      yield* setUp
      const { key } = yield* createKey()
      assert.isFalse(yield* isRecent(key))
      yield* check(key)
      yield* TestClock.adjust("59 minutes")
      yield* check(key)
      yield* TestClock.adjust("59 minutes")
      assert.isTrue(yield* isRecent(key))
      yield* TestClock.adjust("1 minute")
      assert.isFalse(yield* isRecent(key))
    }).pipe(Effect.provide(layer))
  )

  it.effect("is known until it expires", () =>
    Effect.gen(function* () {
      yield* setUp
      const { key } = yield* createKey({ expiresOn: DateTime.add(yield* DateTime.now, { minutes: 10 }) })
      yield* check(key)
      yield* TestClock.adjust("9 minutes")
      assert.isTrue(yield* isRecent(key))
      yield* TestClock.adjust("1 minute")
      assert.isFalse(yield* isRecent(key))
    }).pipe(Effect.provide(layer))
  )

  it.effect("is not known for scopes that it lacks, or in another bucket", () =>
    Effect.gen(function* () {
      yield* setUp
      const { key } = yield* createKey({ scopes: ["orders:*"] })
      yield* check(key)
      assert.isTrue(yield* isRecent(key, ["orders:read"]))
      assert.isFalse(yield* isRecent(key, ["orders:read", "users:read"]))
      const { recentKeys } = yield* ApiKeys
      assert.isFalse(
        recentKeys.has({ ...bucket, bucketName: "other" as typeof bucket.bucketName }, key, [], yield* Clock.Clock)
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("is no longer known after a check that found it disabled or removed", () =>
    Effect.gen(function* () {
      yield* setUp
      const keys = yield* ApiKeys
      const [disabled, removed] = [yield* createKey(), yield* createKey()]
      for (const { key } of [disabled, removed]) yield* check(key)
      yield* keys.update({ params: { ...ofAlice, keyId: disabled.id }, payload: { disabled: true } })
      yield* keys.remove({ params: { ...ofAlice, keyId: removed.id } })
      for (const { key } of [disabled, removed]) {
        assert.isFalse((yield* check(key)).valid)
        assert.isFalse(yield* isRecent(key))
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("is known also if the store fails in the decision that found it valid", () => {
    const { store, injectAt } = makeFaultyStore(MemoryStore.open(), isBackgroundCall)
    const services = Tollgate.layer({ secret }).pipe(Layer.provide(Layer.succeed(Store, store)))
    return Effect.gen(function* () {
      yield* setUp
      const { key } = yield* createKey()
      const [keys, usage, reservations] = [yield* ApiKeys, yield* Usage, yield* Reservations]
      const authorize = makeAuthorize({ store, keys, usage, reservations })
      // The first call looks up the key, the second takes from the limit.
      injectAt(2, "fail")
      const error = yield* Effect.flip(authorize(bucket, key, { rateLimit: { limit: 10, per: "minute" } }))
      assert.instanceOf(error, StoreUnavailable)
      assert.isTrue(yield* isRecent(key))
    }).pipe(Effect.provide(services))
  })

  it.effect("is not remembered unless a route asks for it", () =>
    Effect.gen(function* () {
      yield* (yield* Consumers).create({ params: bucket, payload: { name: alice } })
      const { key } = yield* createKey()
      yield* check(key)
      assert.isFalse(yield* isRecent(key))
    }).pipe(Effect.provide(layer))
  )
})

it.each([0, 50])("take at most 40 MB with %i scopes each", (scopeCount) => {
  const recentKeys = new RecentKeys({} as SecretBox["Service"], {} as TrustedClock["Service"], () => true)
  recentKeys.enable()
  const before = measureHeapAfterGc()
  for (let index = 0; index < (scopeCount === 0 ? 300_000 : 6_000); index++) {
    const scopes = Array.from({ length: scopeCount }, (_, scope) => `${index}:${scope}`.padEnd(100, "x"))
    recentKeys.note(partition, String(index).padStart(43, "0"), scopeCount === 0 ? {} : { scopes }, 0)
  }
  const bytes = measureHeapAfterGc() - before
  console.log(`Remembered keys with ${scopeCount} scopes: ${(bytes / 1e6).toFixed(1)} MB`)
  assert.isBelow(bytes, 40_000_000)
  recentKeys.note(partition, "", undefined, 0)
})
