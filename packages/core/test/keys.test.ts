import { createHmac, hkdfSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { type ApiKeyJson, createTollgate } from "@tollgate/core"
import {
  AccountName,
  ApiKeys,
  ConsumerName,
  Consumers,
  KeyBucketName,
  SecretBox,
  type ServiceOptions,
  Tollgate
} from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { Store, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { KeyFormat } from "@tollgate/store/internal"
import { Arbitrary, DateTime, Effect, Layer, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import { secret } from "./stores.ts"

const bucket = { accountName: AccountName.make("acme"), bucketName: KeyBucketName.make("production") }
const alice = ConsumerName.make("alice")
const ofAlice = { ...bucket, consumerName: alice }
const parseTimestamp = (text: string) => DateTime.makeUnsafe(text)

/** The services on a store that several instances can share, as several processes do. */
const makeServices = (store: Store["Service"], options: Partial<Omit<ServiceOptions, "modules">> = {}) =>
  Tollgate.layer({ secret, ...options }).pipe(Layer.provide(Layer.succeed(Store, store)))

describe("KeyFormat", () => {
  const format = KeyFormat.make("tg")
  const Position = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 49 }))
  const Replacement = Schema.String.check(Schema.isPattern(/^[!-~]$/u))

  it.effect("generates different keys with a valid checksum", () =>
    Effect.gen(function* () {
      const keys = yield* Effect.forEach(Array.from({ length: 2_000 }), () => format.generate)
      for (const key of keys) assert.isTrue(format.isWellFormed(key), key)
      assert.strictEqual(new Set(keys).size, keys.length)
    })
  )

  it.effect("rejects a key in which one character was changed", () =>
    Effect.gen(function* () {
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.all([Arbitrary.schema(Position), Arbitrary.schema(Replacement)]),
        ([position, replacement]) =>
          Effect.map(format.generate, (key) => {
            if (key[position] === replacement) return true
            const changed = key.slice(0, position) + replacement + key.slice(position + 1)
            // A key without the prefix counts as a supplied key, which has no checksum.
            return changed.startsWith("tg_") ? !format.isWellFormed(changed) : true
          }),
        { runs: 2_000 }
      )
      assert.isUndefined(Arbitrary.formatCheckFailure(result))
    })
  )

  it("shows only the last four characters", () => {
    const value = "tg_0123456789012345678901234567890123456789_abcdef"
    assert.strictEqual(KeyFormat.mask(KeyFormat.getSuffix(value)), "****cdef")
  })
})

describe("SecretBox", () => {
  const makeSecretBox = (...secrets: ReadonlyArray<string>) =>
    Effect.provide(SecretBox, SecretBox.layer({ secrets: secrets.map((value) => Redacted.make(value)) }))
  const Text = Schema.String.check(Schema.makeFilter((text: string) => text.isWellFormed()))

  it.effect("decrypts its own ciphertext, but not if it was moved or modified", () =>
    Effect.gen(function* () {
      const secretBox = yield* makeSecretBox(secret)
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.all([Arbitrary.schema(Text), Arbitrary.schema(Text), Arbitrary.schema(Schema.Int)]),
        ([value, associatedData, position]) =>
          Effect.gen(function* () {
            const encrypted = yield* secretBox.encrypt(value, associatedData)
            const decrypted = yield* secretBox.decrypt(encrypted, associatedData)
            const moved = yield* Effect.flip(secretBox.decrypt(encrypted, `${associatedData}'`))
            const index = 12 + (Math.abs(position) % (encrypted.length - 15))
            const replacement = encrypted[index] === "A" ? "B" : "A"
            const changed = encrypted.slice(0, index) + replacement + encrypted.slice(index + 1)
            const modified = yield* Effect.flip(secretBox.decrypt(changed, associatedData))
            return decrypted === value && moved._tag === "DecryptionError" && modified._tag === "DecryptionError"
          }).pipe(Effect.catch(() => Effect.succeed(false))),
        { runs: 300 }
      )
      assert.isUndefined(Arbitrary.formatCheckFailure(result))
    })
  )

  it.effect("gives a different ciphertext each time, and always the same hash", () =>
    Effect.gen(function* () {
      const secretBox = yield* makeSecretBox(secret)
      assert.notStrictEqual(yield* secretBox.encrypt("value", "id"), yield* secretBox.encrypt("value", "id"))
      assert.deepStrictEqual(secretBox.keyHashes("value"), secretBox.keyHashes("value"))
      assert.notInclude(secretBox.keyHashes("value")[0], "value")
    })
  )

  it.effect("hashes with HMAC-SHA-256", () =>
    Effect.gen(function* () {
      const secretBox = yield* makeSecretBox(secret)
      const hashKey = Buffer.from(hkdfSync("sha256", secret, "tollgate", "tollgate/v1/hash", 32))
      for (const value of ["", "tg_x", "x".repeat(256)]) {
        assert.deepStrictEqual(secretBox.keyHashes(value), [
          createHmac("sha256", hashKey).update(value).digest("base64url")
        ])
      }
    })
  )

  it.effect("decrypts with any of its secrets and encrypts with the first", () =>
    Effect.gen(function* () {
      const [older, both, newer] = [
        yield* makeSecretBox("o".repeat(32)),
        yield* makeSecretBox("n".repeat(32), "o".repeat(32)),
        yield* makeSecretBox("n".repeat(32))
      ]
      const encrypted = yield* older.encrypt("value", "id")
      assert.strictEqual(yield* both.decrypt(encrypted, "id"), "value")
      assert.isFalse(both.isUnderPrimarySecret(encrypted))
      assert.include(
        (yield* Effect.flip(newer.decrypt(encrypted, "id"))).message,
        "not encrypted with any of the configured secrets"
      )
      assert.strictEqual(yield* newer.decrypt(yield* both.encrypt("value", "id"), "id"), "value")
      assert.deepStrictEqual(both.keyHashes("value"), [...newer.keyHashes("value"), ...older.keyHashes("value")])
    })
  )
})

describe("key expiry", () => {
  it.effect("is exact to the millisecond", () =>
    Effect.gen(function* () {
      const [consumers, keys] = [yield* Consumers, yield* ApiKeys]
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const { value } = yield* consumers.create({
        params: bucket,
        payload: { name: alice, apiKeys: [{ expiresOn: parseTimestamp("2030-01-01T00:00:10Z") }] }
      })
      const key = value.apiKeys?.[0]?.key ?? ""
      assert.isTrue((yield* keys.verifyKey(bucket, key)).valid)
      yield* TestClock.adjust("9999 millis")
      assert.isTrue((yield* keys.verifyKey(bucket, key)).valid)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* keys.verifyKey(bucket, key), { valid: false, reason: "expired-key" })
      assert.strictEqual((yield* keys.list({ params: ofAlice, query: { limit: 10, offset: 0 } })).total, 1)
    }).pipe(Effect.provide(makeServices(MemoryStore.open())))
  )

  it.effect(
    "is set by a roll, which revokes immediately if it is in the past, and never changes an existing expiry",
    () =>
      Effect.gen(function* () {
        const [consumers, keys] = [yield* Consumers, yield* ApiKeys]
        yield* TestClock.setTime(Date.UTC(2030, 0, 1))
        const { value } = yield* consumers.create({
          params: bucket,
          payload: {
            name: alice,
            apiKeys: [
              {},
              { expiresOn: parseTimestamp("2031-01-01T00:00:00Z") },
              { expiresOn: parseTimestamp("2029-01-01T00:00:00Z") }
            ]
          }
        })
        const verifyAll = Effect.forEach(value.apiKeys ?? [], ({ key = "" }) =>
          Effect.map(keys.verifyKey(bucket, key), ({ valid }) => valid)
        )
        assert.deepStrictEqual(yield* verifyAll, [true, true, false])
        yield* TestClock.adjust("1 minute")
        const rolled = yield* consumers.rollKey({
          params: ofAlice,
          payload: { expiresOn: parseTimestamp("2029-06-01T00:00:00Z") }
        })
        assert.deepStrictEqual(yield* verifyAll, [false, true, false])
        const { data } = yield* keys.list({ params: ofAlice, query: { limit: 10, offset: 0, keyFormat: "visible" } })
        assert.deepStrictEqual(
          data.map(({ expiresOn }) => (expiresOn === undefined ? undefined : DateTime.formatIso(expiresOn))),
          ["2029-06-01T00:00:00.000Z", "2031-01-01T00:00:00.000Z", "2029-01-01T00:00:00.000Z", undefined]
        )
        assert.deepStrictEqual(data[3], rolled)
        assert.isTrue((yield* keys.verifyKey(bucket, data[3]?.key ?? "")).valid)
      }).pipe(Effect.provide(makeServices(MemoryStore.open())))
  )
})

describe("the verify cache", () => {
  const createKey = Effect.gen(function* () {
    const { value } = yield* (yield* Consumers).create({
      params: bucket,
      query: { withApiKey: true },
      payload: { name: alice }
    })
    return value.apiKeys?.[0] ?? { id: "", key: "" }
  })
  const verify = (key = "") =>
    Effect.flatMap(ApiKeys, (keys) => Effect.map(keys.verifyKey(bucket, key), ({ valid }) => valid))

  it.effect("shows changes of this process immediately, and changes of another process after the ttl", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const [thisProcess, otherProcess] = [makeServices(store, { verifyCache: { ttl: 1_000 } }), makeServices(store)]
      const context = yield* Layer.build(thisProcess)
      const inProcess = Effect.provide(context)
      const { id, key } = yield* inProcess(createKey)
      assert.isTrue(yield* inProcess(verify(key)))
      const remove = Effect.flatMap(ApiKeys, (keys) => keys.remove({ params: { ...ofAlice, keyId: id } }))
      yield* Effect.provide(remove, otherProcess)
      assert.isTrue(yield* inProcess(verify(key)))
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* inProcess(verify(key)))

      const { id: second, key: value } = (yield* inProcess(
        Effect.flatMap(ApiKeys, (keys) => keys.create({ params: ofAlice, payload: {} }))
      )).value
      assert.isTrue(yield* inProcess(verify(value)))
      yield* inProcess(Effect.flatMap(ApiKeys, (keys) => keys.remove({ params: { ...ofAlice, keyId: second } })))
      assert.isFalse(yield* inProcess(verify(value)))
    })
  )

  it.effect("is invalidated when a change fails with an unknown outcome", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      let isReplyLost = false
      const unreliable: Store["Service"] = {
        ...store,
        commit: (partition, changes, idempotency) =>
          Effect.flatMap(store.commit(partition, changes, idempotency), (committed) =>
            isReplyLost
              ? Effect.fail(
                  new StoreUnavailable({ operation: "commit", problem: "lost", retryable: true, outcome: "unknown" })
                )
              : Effect.succeed(committed)
          )
      }
      const inProcess = Effect.provide(yield* Layer.build(makeServices(unreliable, { verifyCache: { ttl: 60_000 } })))
      const { id, key } = yield* inProcess(createKey)
      assert.isTrue(yield* inProcess(verify(key)))
      isReplyLost = true
      yield* inProcess(
        Effect.flip(Effect.flatMap(ApiKeys, (keys) => keys.remove({ params: { ...ofAlice, keyId: id } })))
      )
      assert.isFalse(yield* inProcess(verify(key)))
    })
  )

  it.effect("expires by the monotonic clock, also when the wall clock is set back", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const inProcess = Effect.provide(yield* Layer.build(makeServices(store, { verifyCache: { ttl: 1_000 } })))
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const { id, key } = yield* inProcess(createKey)
      assert.isTrue(yield* inProcess(verify(key)))
      yield* TestClock.setTime(Date.UTC(2029, 0, 1))
      assert.isTrue(yield* inProcess(verify(key)))
      yield* Effect.provide(
        Effect.flatMap(ApiKeys, (keys) => keys.remove({ params: { ...ofAlice, keyId: id } })),
        makeServices(store)
      )
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* inProcess(verify(key)))
    })
  )

  it.effect("never returns a key after its expiry", () =>
    Effect.gen(function* () {
      const { value } = yield* (yield* Consumers).create({
        params: bucket,
        payload: { name: alice, apiKeys: [{ expiresOn: parseTimestamp("1970-01-01T00:00:01Z") }] }
      })
      const key = value.apiKeys?.[0]?.key
      assert.isTrue(yield* verify(key))
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* verify(key))
    }).pipe(Effect.provide(makeServices(MemoryStore.open(), { verifyCache: { ttl: 60_000 } })))
  )
})

describe("replacing the secret", () => {
  const older = "the older secret, of 32 characters"
  const newer = "the newer secret, of 32 characters"
  const create = Effect.gen(function* () {
    const { value } = yield* (yield* Consumers).create({
      params: bucket,
      payload: { name: alice, apiKeys: [{}, { key: "supplied-by-the-host" }] }
    })
    return (value.apiKeys ?? []).map(({ key = "" }) => key)
  })
  const verifyAll = (keys: ReadonlyArray<string>) =>
    Effect.flatMap(ApiKeys, (service) =>
      Effect.forEach(keys, (key) => Effect.map(service.verifyKey(bucket, key), ({ valid }) => valid))
    )
  const reencrypt = Effect.flatMap(ApiKeys, (keys) => keys.reencryptKeys())
  const visible = Effect.flatMap(ApiKeys, (keys) =>
    Effect.map(keys.list({ params: ofAlice, query: { limit: 10, offset: 0, keyFormat: "visible" } }), ({ data }) =>
      data.map(({ key }) => key)
    )
  )

  it.effect("keeps every key valid before, during and after re-encryption", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const keys = yield* Effect.provide(create, makeServices(store, { secret: older }))
      const both = makeServices(store, { secret: [newer, older] })
      assert.deepStrictEqual(yield* Effect.provide(verifyAll(keys), both), [true, true])
      assert.deepStrictEqual(yield* Effect.provide(visible, both), keys)
      const taken = yield* Effect.provide(
        Effect.flip(
          Effect.flatMap(ApiKeys, (service) =>
            service.create({ params: ofAlice, payload: { key: "supplied-by-the-host" } })
          )
        ),
        both
      )
      assert.strictEqual(taken._tag, "KeyValueTaken")
      assert.deepStrictEqual(yield* Effect.provide(verifyAll(keys), makeServices(store, { secret: newer })), [
        false,
        false
      ])

      assert.deepStrictEqual(yield* Effect.provide(reencrypt, both), {
        reencrypted: 2,
        unchanged: 0,
        notStored: 0,
        undecryptable: 0
      })
      assert.deepStrictEqual(yield* Effect.provide(reencrypt, both), {
        reencrypted: 0,
        unchanged: 2,
        notStored: 0,
        undecryptable: 0
      })
      const after = makeServices(store, { secret: newer })
      assert.deepStrictEqual(yield* Effect.provide(verifyAll(keys), after), [true, true])
      assert.deepStrictEqual(yield* Effect.provide(visible, after), keys)
    })
  )

  it.effect("re-encrypts every key while other keys are being deleted", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const created = yield* Effect.provide(
        Effect.gen(function* () {
          yield* (yield* Consumers).create({ params: bucket, payload: { name: alice } })
          const keys = yield* ApiKeys
          return (yield* keys.createMany({ params: ofAlice, payload: Array.from({ length: 1_000 }, () => ({})) })).data
        }),
        makeServices(store, { secret: older })
      )
      // Delete keys from the start and from the end while the first pages are being re-encrypted.
      let commits = 0
      const deletedIds = new Set([...created.slice(0, 5), ...created.slice(-5)].map(({ id }) => id as string))
      const shrinking: Store["Service"] = {
        ...store,
        commit: (partition, changes, idempotency) =>
          Effect.gen(function* () {
            if (++commits === 150) {
              const services = makeServices(store, { secret: [newer, older] })
              const remove = (id: string) =>
                Effect.flatMap(ApiKeys, (keys) => keys.remove({ params: { ...ofAlice, keyId: id } }))
              yield* Effect.orDie(Effect.provide(Effect.forEach(deletedIds, remove), services))
            }
            return yield* store.commit(partition, changes, idempotency)
          })
      }
      yield* Effect.provide(reencrypt, makeServices(shrinking, { secret: [newer, older] }))
      const remaining = created.filter(({ id }) => !deletedIds.has(id)).map(({ key = "" }) => key)
      const valid = yield* Effect.provide(verifyAll(remaining), makeServices(store, { secret: newer }))
      assert.strictEqual(valid.filter((isValid) => !isValid).length, 0)
      const secondRun = yield* Effect.provide(reencrypt, makeServices(store, { secret: newer }))
      assert.deepInclude(secondRun, { undecryptable: 0, notStored: 0 })
      const retired = yield* Effect.flip(Effect.provide(verifyAll(remaining), makeServices(store, { secret: older })))
      assert.strictEqual(retired._tag, "ConfigurationError")
    })
  )

  it.effect("skips and counts values that cannot be decrypted", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const third = "a third secret, long enough to be one"
      yield* Effect.provide(create, makeServices(store, { secret: third }))
      const createSecond = Effect.flatMap(Consumers, (consumers) =>
        consumers.create({ params: bucket, query: { withApiKey: true }, payload: { name: ConsumerName.make("bob") } })
      )
      yield* Effect.provide(createSecond, makeServices(store, { secret: [older, third] }))
      const result = yield* Effect.provide(reencrypt, makeServices(store, { secret: [newer, older] }))
      assert.deepStrictEqual(result, { reencrypted: 1, unchanged: 0, notStored: 0, undecryptable: 2 })
    })
  )

  it.effect("counts keys whose value is not stored; they stay valid under their original secret", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const keys = yield* Effect.provide(create, makeServices(store, { secret: older, keyStorage: "hash-only" }))
      const both = makeServices(store, { secret: [newer, older], keyStorage: "hash-only" })
      assert.deepStrictEqual(yield* Effect.provide(reencrypt, both), {
        reencrypted: 0,
        unchanged: 0,
        notStored: 2,
        undecryptable: 0
      })
      assert.deepStrictEqual(yield* Effect.provide(verifyAll(keys), both), [true, true])
    })
  )

  it.effect("removes stored values after keyStorage changed to hash-only", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const keys = yield* Effect.provide(create, makeServices(store))
      const hashOnly = makeServices(store, { keyStorage: "hash-only" })
      assert.strictEqual((yield* Effect.provide(reencrypt, hashOnly)).reencrypted, 2)
      assert.deepStrictEqual(yield* Effect.provide(verifyAll(keys), hashOnly), [true, true])
      assert.strictEqual((yield* Effect.flip(Effect.provide(visible, hashOnly)))._tag, "KeyNotRetained")
      assert.deepStrictEqual(yield* Effect.provide(visible, makeServices(store)), [undefined, undefined])
    })
  )
})

describe("keyStorage hash-only", () => {
  it("returns a value only on creation: a replay has none, and reading it fails with KeyNotRetained", async () => {
    const gate = await createTollgate({ store: MemoryStore.open(), secret, keyStorage: "hash-only" })
    const keyBucket = gate.account("acme").keyBucket("b")
    const create = () => keyBucket.consumers.create({ name: "alice" }, { withApiKey: true, idempotencyKey: "once" })
    const created = await create()
    const [key] = created.apiKeys
    assert.match(key.key ?? "", /^tg_/)
    const { key: _, ...rest } = key
    assert.deepStrictEqual((await create()).apiKeys, [rest])
    const read = await keyBucket.keys.get("alice", key.id)
    assert.strictEqual(read.key, `****${key.key?.slice(-4)}`)
    const error = await keyBucket.keys.get("alice", key.id, { keyFormat: "visible" }).catch((error: unknown) => error)
    assert.propertyVal(error, "_tag", "KeyNotRetained")
    assert.isTrue((await keyBucket.verify(key.key ?? "")).valid)
    const replaced = await keyBucket.keys.update("alice", key.id, { key: "another-value-entirely" })
    assert.strictEqual(replaced.key, "another-value-entirely")
    await gate.close()
  })

  it("returns the value of a rolled key once, in process and over HTTP", async () => {
    const tokens = [{ token: "a-management-token-for-acme", account: "acme", access: "write" }] as const
    const gate = await createTollgate({ store: MemoryStore.open(), secret, keyStorage: "hash-only", tokens })
    const keyBucket = gate.account("acme").keyBucket("b")
    const [old] = (await keyBucket.consumers.create({ name: "alice" }, { withApiKey: true })).apiKeys
    const past = { expiresOn: "2020-01-01T00:00:00Z" }
    const isValid = async (key?: string) => (await keyBucket.verify(key ?? "")).valid
    const rolled = await keyBucket.consumers.rollKey("alice", past, { idempotencyKey: "roll" })
    assert.deepStrictEqual([await isValid(old.key), await isValid(rolled.key)], [false, true])
    const replayed = await keyBucket.consumers.rollKey("alice", past, { idempotencyKey: "roll" })
    assert.deepStrictEqual([replayed.id, replayed.key], [rolled.id, undefined])
    const roll = (headers: Record<string, string> = {}) =>
      gate.handler(
        new Request("http://host/v1/accounts/acme/key-buckets/b/consumers/alice/roll-key", {
          method: "POST",
          headers: { authorization: "Bearer a-management-token-for-acme", ...headers },
          body: JSON.stringify(past)
        })
      )
    const response = await roll({ "idempotency-key": "over-http" })
    const key = (await response.json()) as ApiKeyJson
    assert.deepStrictEqual([response.status, response.headers.get("content-type")], [200, "application/json"])
    assert.match(response.headers.get("location") ?? "", new RegExp(`/alice/keys/${key.id}$`))
    assert.deepStrictEqual([await isValid(rolled.key), await isValid(key.key)], [false, true])
    const replay = (await (await roll({ "idempotency-key": "over-http" })).json()) as ApiKeyJson
    assert.deepStrictEqual([replay.id, replay.key], [key.id, undefined])
    await gate.close()
  })
})

describe("option secret", () => {
  const other = `${secret}, and another`
  const open = (store: StoreOperations, secret: string | ReadonlyArray<string>) => createTollgate({ store, secret })
  const createKey = async (gate: Tollgate): Promise<string> => {
    const { consumers } = gate.account("acme").keyBucket("b")
    const { apiKeys } = await consumers.create({ name: "alice" }, { withApiKey: true })
    return apiKeys[0].key ?? ""
  }
  const isValid = async (gate: Tollgate, key: string): Promise<boolean> =>
    (await gate.account("acme").keyBucket("b").verify(key)).valid
  const openError = (store: StoreOperations, secret: string | ReadonlyArray<string>) =>
    open(store, secret).then(
      () => assert.fail("createTollgate did not fail"),
      (error: unknown) => error
    )

  it("is rejected at startup if the store was used with a different secret; the store stays usable", async () => {
    const store = MemoryStore.open()
    const first = await open(store, secret)
    const key = await createKey(first)
    await first.close()
    for (const wrong of [other, [other, `${other} still`]]) {
      const error = await openError(store, wrong)
      assert.deepInclude(error, { _tag: "ConfigurationError", option: "secret" })
      assert.match(String(error), /used with a different secret/)
      assert.notInclude(String(error), other)
    }
    const second = await open(store, secret)
    assert.isTrue(await isValid(second, key))
    await second.close()
  })

  it("cannot differ between two processes that open a new store concurrently", async () => {
    const inner = MemoryStore.open()
    const list: typeof inner.list = (...args) => Effect.tap(inner.list(...args), () => Effect.yieldNow)
    const store = { ...inner, list }
    const started = await Promise.allSettled([open(store, secret), open(store, other)])
    assert.deepStrictEqual(started.map(({ status }) => status).sort(), ["fulfilled", "rejected"])
    for (const result of started) {
      if (result.status === "fulfilled") await result.value.close()
      else assert.deepInclude(result.reason, { _tag: "ConfigurationError", option: "secret" })
    }
    const together = await Promise.allSettled([open(MemoryStore.open(), secret), open(inner, [secret, other])])
    for (const result of together) if (result.status === "fulfilled") await result.value.close()
    assert.deepStrictEqual(
      together.map(({ status }) => status),
      ["fulfilled", "fulfilled"]
    )
  })

  it("is rejected if it is the example from the documentation", async () => {
    const error = await openError(MemoryStore.open(), "at least 32 characters, kept as you keep a password")
    assert.deepInclude(error, { _tag: "ConfigurationError", option: "secret" })
  })

  it("can be replaced by configuring [new, old] until all keys are re-encrypted", async () => {
    const store = MemoryStore.open()
    await (await open(store, secret)).close()
    const gate = await open(store, [other, secret])
    const key = await createKey(gate)
    await gate.reencryptKeys()
    await gate.close()
    assert.deepInclude(await openError(store, secret), { _tag: "ConfigurationError", option: "secret" })
    const replaced = await open(store, other)
    assert.isTrue(await isValid(replaced, key))
    await replaced.close()
  })
})

describe("in-process calls", () => {
  it("validate their input like the HTTP API", async () => {
    const gate = await createTollgate({ store: MemoryStore.open(), secret })
    const keyBucket = gate.account("acme").keyBucket("b")
    await keyBucket.consumers.create({ name: "alice", tags: { env: "prod" } }, { withApiKey: true })
    const roll = (options: object) =>
      keyBucket.consumers.rollKey("alice", { expiresOn: "2030-01-01T00:00:00Z" }, options)
    const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`)
    const invalidCalls: ReadonlyArray<() => Promise<unknown>> = [
      () => roll({ ifTag: { env: "dev" } }),
      () => roll({ idempotencyKey: "" }),
      () => keyBucket.consumers.create({ name: "bob" }, { withApiKeys: true } as never),
      () => keyBucket.consumers.create({ name: "bob" }, { withApiKey: "true" } as never),
      () => keyBucket.consumers.create({ name: "bob", description: "half \ud800" }),
      () => keyBucket.consumers.create({ name: "bob", description: "nul \u0000" }),
      () => keyBucket.consumers.create({ name: "bob", metadata: JSON.parse('{"__proto__":1}') }),
      () => keyBucket.consumers.create({ name: "bob", metadata: deep }),
      async () => gate.account("ac me").keyBucket("b").consumers.create({ name: "bob" }),
      () => keyBucket.consumers.list({ limit: 0 }),
      () => keyBucket.consumers.list({ tags: { "a b": "1" } })
    ]
    for (const call of invalidCalls) {
      const error = await call().then(
        () => assert.fail(`the call did not fail: ${call}`),
        (error: unknown) => error
      )
      assert.propertyVal(error, "_tag", "InvalidInput")
    }
    assert.strictEqual((await keyBucket.keys.list("alice")).total, 1)
    for (const invalidKey of [undefined, null, 5, {}]) {
      assert.deepStrictEqual(await keyBucket.verify(invalidKey as never), {
        valid: false,
        reason: "invalid"
      })
    }
    await gate.close()
  })
})

describe("the HTTP API", () => {
  it.each([
    [undefined, undefined],
    [null, undefined],
    [false, undefined],
    ["alice", "it is a string"],
    [{}, "missing or invalid: `id`, `account`, `access`"],
    [{ id: "x", account: "*" }, "missing or invalid: `access`"],
    [{ id: "x", account: "*", permissions: ["Consumers"] }, "missing or invalid: `permissions`"],
    [{ id: "x", account: "*", access: "read", permissions: ["viewer"] }, "it has both `access` and `permissions`"],
    [{ account: "*", access: "write" }, "missing or invalid: `id`"],
    [{ id: "", account: "*", access: "write" }, "missing or invalid: `id`"],
    [{ id: "x", account: "ACME & Sons", access: "write" }, "missing or invalid: `account`"]
  ])("returns 401 if `authenticate` returns %j, and logs what is wrong with it", async (principal, problem) => {
    const warnings: Array<unknown> = []
    const ignore = () => undefined
    const logger = {
      debug: ignore,
      info: ignore,
      warn: (...texts: Array<unknown>) => warnings.push(texts),
      error: ignore
    }
    const authenticate = () => principal as never
    const gate = await createTollgate({ store: MemoryStore.open(), secret, logger, authenticate })
    const response = await gate.handler(new Request("http://gate/v1/metering"))
    assert.strictEqual(response.status, 401)
    assert.strictEqual(warnings.length, problem === undefined ? 0 : 1)
    assert.include(JSON.stringify(warnings), problem ?? "")
    assert.notInclude(JSON.stringify(warnings), "ACME")
    await gate.close()
  })
})
