/**
 * Keys that another system issued, imported by their hashes: look-up, secrets, storage, limits.
 */
import { hash } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { createTollgate, KeyLimitReached, KeyNotRetained, KeyValueTaken } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { ApiKeys, Consumers, type ServiceOptions, Tollgate } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { Store, type StoreOperations } from "@tollgate/store"
import { Effect, Layer } from "effect"
import { alice, bucket, ofAlice, partition } from "./alice.ts"
import { grants, secret, tokens } from "./stores.ts"

const value = "issued-by-another-system"
const sha256 = (text: string) => hash("sha256", text, "hex")
const item = (text: string) => ({ hash: sha256(text), algorithm: "sha256" as const })

const makeServices = (store: StoreOperations, options: Partial<Omit<ServiceOptions, "modules">> = {}) =>
  Tollgate.layer({ secret, ...options }).pipe(Layer.provide(Layer.succeed(Store, store)))

const createConsumer = Effect.flatMap(Consumers, (consumers) =>
  consumers.create({ params: bucket, payload: { name: alice } })
)
const importKeys = (...values: ReadonlyArray<string>) =>
  Effect.flatMap(ApiKeys, (keys) => keys.import({ params: ofAlice, payload: { keys: values.map(item) } }))
const createKey = (key: string) => Effect.flatMap(ApiKeys, (keys) => keys.create({ params: ofAlice, payload: { key } }))
const isValid = (key: string) =>
  Effect.flatMap(ApiKeys, (keys) => Effect.map(keys.verifyKey(bucket, key), ({ valid }) => valid))
const reencrypt = Effect.flatMap(ApiKeys, (keys) => keys.reencryptKeys())

/** Every key record of the bucket. */
const readRecords = (store: StoreOperations) =>
  Effect.map(store.list(partition, [{ indexTerms: ["key"], offset: 0, limit: 1_000 }]), ([page]) => page?.records ?? [])

describe("an imported key", () => {
  it.effect("is stored without its hash in the clear", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      yield* Effect.provide(Effect.andThen(createConsumer, importKeys(value)), makeServices(store))
      const records = JSON.stringify(yield* readRecords(store))
      assert.include(records, "encryptedHash")
      const digest = Buffer.from(sha256(value), "hex")
      for (const form of [digest.toString("hex"), digest.toString("base64url"), digest.toString("base64")]) {
        assert.notInclude(records, form)
      }
    })
  )

  it("is the same in each encoding of its hash", async () => {
    const gate = await createTollgate({ store: MemoryStore.open(), secret })
    const { consumers, keys, verify } = gate.account("acme").keyBucket("production")
    await consumers.create({ name: "alice" })
    // Of these, one has "+" and one "/" in base64, for which base64url has other digits.
    const values = Array.from({ length: 40 }, (_, index) => `issued-by-another-system-${index}`)
    const forms = values.flatMap((text) => {
      const base64 = hash("sha256", text, "base64")
      return [base64, base64.slice(0, -1), hash("sha256", text, "base64url"), sha256(text)].map((form) => [text, form])
    })
    assert.isTrue(forms.some(([, form]) => form?.includes("+")) && forms.some(([, form]) => form?.includes("/")))
    for (const [text = "", form = ""] of forms) {
      const { id } = (await keys.import("alice", { keys: [{ hash: form, algorithm: "sha256" }] })).data[0] ?? { id: "" }
      assert.isTrue((await verify(text)).valid, form)
      for (const [, other = ""] of forms.filter(([same]) => same === text)) {
        const again = await keys
          .import("alice", { keys: [{ hash: other, algorithm: "sha256" }] })
          .catch((error) => error)
        assert.instanceOf(again, KeyValueTaken)
      }
      await keys.remove("alice", id)
    }
    await gate.close()
  })

  it.effect("is found in one store call; a generated key needs the look-up by value only", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const lookUps: Array<ReadonlyArray<string>> = []
      const observed: StoreOperations = {
        ...store,
        getByUniqueKey: (partition, uniqueKeys) => {
          lookUps.push(uniqueKeys)
          return store.getByUniqueKey(partition, uniqueKeys)
        }
      }
      const inProcess = Effect.provide(yield* Layer.build(makeServices(observed)))
      yield* inProcess(createConsumer)
      yield* inProcess(importKeys(value))
      const generated = yield* inProcess(
        Effect.flatMap(ApiKeys, (keys) => keys.create({ params: ofAlice, payload: {} }))
      )
      lookUps.length = 0
      assert.isTrue(yield* inProcess(isValid(value)))
      assert.isTrue(yield* inProcess(isValid(generated.value.key ?? "")))
      assert.deepStrictEqual(
        lookUps.map(({ length }) => length),
        [2, 1]
      )
    })
  )

  it.effect("is valid before, during and after a change of secrets", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const [older, newer] = ["the older secret, of 32 characters", "the newer secret, of 32 characters"]
      yield* Effect.provide(Effect.andThen(createConsumer, importKeys(value)), makeServices(store, { secret: older }))
      const both = Effect.provide(yield* Layer.build(makeServices(store, { secret: [newer, older] })))
      assert.isTrue(yield* both(isValid(value)))
      assert.instanceOf(yield* both(Effect.flip(createKey(value))), KeyValueTaken)
      assert.instanceOf(yield* both(Effect.flip(importKeys(value))), KeyValueTaken)
      assert.isFalse(yield* Effect.provide(isValid(value), makeServices(store, { secret: newer })))
      const counts = { reencrypted: 0, unchanged: 0, notStored: 0, undecryptable: 0 }
      assert.deepStrictEqual(yield* both(reencrypt), { ...counts, reencrypted: 1 })
      assert.deepStrictEqual(yield* both(reencrypt), { ...counts, unchanged: 1 })
      const after = Effect.provide(yield* Layer.build(makeServices(store, { secret: newer })))
      assert.isTrue(yield* after(isValid(value)))
      assert.instanceOf(yield* after(Effect.flip(createKey(value))), KeyValueTaken)
      // The record still has the hash under the older secret, which is not configured any more.
      assert.deepStrictEqual(yield* after(reencrypt), { ...counts, reencrypted: 1 })
      assert.deepStrictEqual(yield* after(reencrypt), { ...counts, unchanged: 1 })
    })
  )

  it.effect("can change secrets under keyStorage hash-only too, and keeps its hash when that changes", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const [older, newer] = ["the older secret, of 32 characters", "the newer secret, of 32 characters"]
      const hashOnly = { keyStorage: "hash-only" } as const
      const create = Effect.andThen(createConsumer, importKeys(value))
      yield* Effect.provide(create, makeServices(store, { secret: older, ...hashOnly }))
      const result = yield* Effect.provide(reencrypt, makeServices(store, { secret: [newer, older], ...hashOnly }))
      assert.deepStrictEqual(result, { reencrypted: 1, unchanged: 0, notStored: 0, undecryptable: 0 })
      assert.isTrue(yield* Effect.provide(isValid(value), makeServices(store, { secret: newer, ...hashOnly })))
      assert.isTrue(yield* Effect.provide(isValid(value), makeServices(store, { secret: newer })))
    })
  )

  it.effect("counts towards the maximum of keys of a consumer", () =>
    Effect.gen(function* () {
      const inProcess = Effect.provide(yield* Layer.build(makeServices(MemoryStore.open())))
      yield* inProcess(createConsumer)
      for (let batch = 0; batch < 10; batch++) {
        const values = Array.from({ length: batch === 9 ? 999 : 1_000 }, (_, index) => `value ${batch} ${index}`)
        yield* inProcess(importKeys(...values))
      }
      assert.instanceOf(yield* inProcess(Effect.flip(importKeys("one-too-many-1", "one-too-many-2"))), KeyLimitReached)
      assert.strictEqual((yield* inProcess(importKeys("the-last-possible"))).total, 1)
      assert.instanceOf(yield* inProcess(Effect.flip(importKeys("one-too-many-3"))), KeyLimitReached)
    })
  )
})

describe("keys.import", () => {
  it("is a method in process and of the client, with idempotency", async () => {
    const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants })
    const server = createServer(toNodeHandler(gate))
    await new Promise<void>((resolve) => server.listen(0, resolve))
    const baseUrl = `http://localhost:${(server.address() as AddressInfo).port}`
    const client = createClient({ baseUrl, token: tokens.writer })
    const buckets = [gate.account("acme").keyBucket("local"), client.account("acme").keyBucket("remote")]
    for (const { consumers, keys, verify } of buckets) {
      await consumers.create({ name: "alice" })
      const run = () => keys.import("alice", { keys: [{ ...item(value), suffix: "tem" }] }, { idempotencyKey: "once" })
      const imported = await run()
      assert.deepStrictEqual(await run(), imported)
      const [key] = imported.data
      assert.notProperty(key, "key")
      assert.strictEqual((await keys.get("alice", key?.id ?? "")).key, "****tem")
      assert.isTrue((await verify(value)).valid)
      const taken = await keys.import("alice", { keys: [item(value)] }).catch((error: unknown) => error)
      assert.instanceOf(taken, KeyValueTaken)
      const visible = await keys.get("alice", key?.id ?? "", { keyFormat: "visible" }).catch((error: unknown) => error)
      assert.instanceOf(visible, KeyNotRetained)
      const patched = await consumers.update("alice", {}, { apiKeys: true, keyFormat: "visible" })
      assert.deepStrictEqual(patched.apiKeys, imported.data)
      const bob = await consumers.create({ name: "bob" }, { withApiKey: true, keyFormat: "none", managers: true })
      assert.deepStrictEqual([bob.managers, bob.apiKeys.map(({ key }) => key)], [[], [undefined]])
      await consumers.remove("bob", { apiKeys: true })
      const rolled = await consumers.rollKey("alice", { expiresOn: "2020-01-01T00:00:00Z", scopes: ["a"] })
      assert.isFalse((await verify(value)).valid)
      if (rolled.key !== undefined) assert.deepInclude(await verify(rolled.key), { valid: true, scopes: ["a"] })
    }
    await new Promise((resolve) => server.close(resolve))
    await gate.close()
  })
})
