import { createHmac, hkdfSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import {
  AccountName,
  type ApiKeyJson,
  ApiKeys,
  type ConfigurationError,
  ConsumerName,
  Consumers,
  createTollgate,
  KeyBucketName,
  KeyDecryptionError,
  KeyFormat,
  SecretBox,
  type ServiceOptions,
  Store,
  type StoreOperations,
  StoreUnavailable,
  Tollgate
} from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Arbitrary, DateTime, Effect, Layer, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import { secret } from "./stores.ts"

const bucket = { accountName: AccountName.make("acme"), bucketName: KeyBucketName.make("production") }
const alice = ConsumerName.make("alice")
const at = (text: string) => DateTime.makeUnsafe(text)

/** The services over a store that several generations of them may share. */
const over = (store: Store["Service"], options: Partial<ServiceOptions> = {}) =>
  Tollgate.layer({ secret, ...options }).pipe(Layer.provide(Layer.succeed(Store, store)))

describe("the key format", () => {
  const format = KeyFormat.make("tg")
  const Position = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 49 }))
  const Replacement = Schema.String.check(Schema.isPattern(/^[!-~]$/u))

  it.effect("makes keys that pass their own checksum, and no two alike", () =>
    Effect.gen(function* () {
      const keys = yield* Effect.forEach(Array.from({ length: 2_000 }), () => format.generate)
      for (const key of keys) assert.isTrue(format.isWellFormed(key), key)
      assert.strictEqual(new Set(keys).size, keys.length)
    })
  )

  it.effect("refuses a key in which any one character is another", () =>
    Effect.gen(function* () {
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.all([Arbitrary.schema(Position), Arbitrary.schema(Replacement)]),
        ([position, replacement]) =>
          Effect.map(format.generate, (key) => {
            if (key[position] === replacement) return true
            const changed = key.slice(0, position) + replacement + key.slice(position + 1)
            // A key without our prefix is somebody's own, and has no checksum.
            return changed.startsWith("tg_") ? !format.isWellFormed(changed) : true
          }),
        { runs: 2_000 }
      )
      assert.isUndefined(Arbitrary.formatCheckFailure(result))
    })
  )

  it("shows the last four characters, and nothing else", () => {
    const value = "tg_0123456789012345678901234567890123456789_abcdef"
    assert.strictEqual(KeyFormat.mask(KeyFormat.suffixOf(value)), "****cdef")
  })
})

describe("the key vault", () => {
  const vaultWith = (...secrets: ReadonlyArray<string>) =>
    Effect.provide(SecretBox, SecretBox.layer({ secrets: secrets.map((one) => Redacted.make(one)) }))
  const Text = Schema.String.check(Schema.makeFilter((text: string) => text.isWellFormed()))

  it.effect("opens what it sealed, and nothing that was moved or changed", () =>
    Effect.gen(function* () {
      const vault = yield* vaultWith(secret)
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.all([Arbitrary.schema(Text), Arbitrary.schema(Text), Arbitrary.schema(Schema.Int)]),
        ([value, identity, place]) =>
          Effect.gen(function* () {
            const sealed = yield* vault.encrypt(value, identity)
            const opened = yield* vault.decrypt(sealed, identity)
            const moved = yield* Effect.flip(vault.decrypt(sealed, `${identity}'`))
            const index = 12 + (Math.abs(place) % (sealed.length - 15))
            const changed = sealed.slice(0, index) + (sealed[index] === "A" ? "B" : "A") + sealed.slice(index + 1)
            const broken = yield* Effect.flip(vault.decrypt(changed, identity))
            return opened === value && moved instanceof KeyDecryptionError && broken instanceof KeyDecryptionError
          }).pipe(Effect.catch(() => Effect.succeed(false))),
        { runs: 300 }
      )
      assert.isUndefined(Arbitrary.formatCheckFailure(result))
    })
  )

  it.effect("seals the same value differently every time, and hashes it alike", () =>
    Effect.gen(function* () {
      const vault = yield* vaultWith(secret)
      assert.notStrictEqual(yield* vault.encrypt("value", "id"), yield* vault.encrypt("value", "id"))
      assert.deepStrictEqual(vault.hashes("value"), vault.hashes("value"))
      assert.notInclude(vault.hashes("value")[0], "value")
    })
  )

  it.effect("hashes by HMAC-SHA-256", () =>
    Effect.gen(function* () {
      const vault = yield* vaultWith(secret)
      const hashKey = Buffer.from(hkdfSync("sha256", secret, "tollgate", "tollgate/v1/hash", 32))
      for (const value of ["", "tg_x", "x".repeat(256)]) {
        assert.deepStrictEqual(vault.hashes(value), [createHmac("sha256", hashKey).update(value).digest("base64url")])
      }
    })
  )

  it.effect("opens with any of its secrets, and seals with the first", () =>
    Effect.gen(function* () {
      const [older, both, newer] = [
        yield* vaultWith("o".repeat(32)),
        yield* vaultWith("n".repeat(32), "o".repeat(32)),
        yield* vaultWith("n".repeat(32))
      ]
      const sealed = yield* older.encrypt("value", "id")
      assert.strictEqual(yield* both.decrypt(sealed, "id"), "value")
      assert.isFalse(both.isUnderCurrentSecret(sealed))
      assert.include((yield* Effect.flip(newer.decrypt(sealed, "id"))).message, "none of the configured secrets")
      assert.strictEqual(yield* newer.decrypt(yield* both.encrypt("value", "id"), "id"), "value")
      assert.deepStrictEqual(both.hashes("value"), [...newer.hashes("value"), ...older.hashes("value")])
    })
  )
})

describe("time", () => {
  it.effect("expires a key to the millisecond", () =>
    Effect.gen(function* () {
      const [consumers, keys] = [yield* Consumers, yield* ApiKeys]
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const { value } = yield* consumers.create(bucket, {
        name: alice,
        apiKeys: [{ expiresOn: at("2030-01-01T00:00:10Z") }]
      })
      const key = value.apiKeys?.[0]?.key ?? ""
      assert.isTrue((yield* keys.verify(bucket, key)).valid)
      yield* TestClock.adjust("9999 millis")
      assert.isTrue((yield* keys.verify(bucket, key)).valid)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* keys.verify(bucket, key), { valid: false, reason: "invalid" })
      assert.strictEqual((yield* keys.list(bucket, "alice", { limit: 10, offset: 0 })).total, 1)
    }).pipe(Effect.provide(over(MemoryStore.open())))
  )

  it.effect("lets a roll into the past revoke at once, and never move an existing expiry", () =>
    Effect.gen(function* () {
      const [consumers, keys] = [yield* Consumers, yield* ApiKeys]
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const { value } = yield* consumers.create(bucket, {
        name: alice,
        apiKeys: [{}, { expiresOn: at("2031-01-01T00:00:00Z") }, { expiresOn: at("2029-01-01T00:00:00Z") }]
      })
      const valid = Effect.forEach(value.apiKeys ?? [], ({ key = "" }) =>
        Effect.map(keys.verify(bucket, key), ({ valid }) => valid)
      )
      assert.deepStrictEqual(yield* valid, [true, true, false])
      yield* TestClock.adjust("1 minute")
      const rolled = yield* consumers.rollKey(bucket, "alice", at("2029-06-01T00:00:00Z"))
      assert.deepStrictEqual(yield* valid, [false, true, false])
      const { data } = yield* keys.list(bucket, "alice", { limit: 10, offset: 0, keyFormat: "visible" })
      assert.deepStrictEqual(
        data.map(({ expiresOn }) => (expiresOn === undefined ? undefined : DateTime.formatIso(expiresOn))),
        ["2029-06-01T00:00:00.000Z", "2031-01-01T00:00:00.000Z", "2029-01-01T00:00:00.000Z", undefined]
      )
      assert.deepStrictEqual(data[3], rolled)
      assert.isTrue((yield* keys.verify(bucket, data[3]?.key ?? "")).valid)
    }).pipe(Effect.provide(over(MemoryStore.open())))
  )
})

describe("the cache of verify", () => {
  const make = Effect.gen(function* () {
    const { value } = yield* (yield* Consumers).create(bucket, { name: alice }, { withApiKey: true })
    return value.apiKeys?.[0] ?? { id: "", key: "" }
  })
  const verify = (key = "") =>
    Effect.flatMap(ApiKeys, (keys) => Effect.map(keys.verify(bucket, key), ({ valid }) => valid))

  it.effect("shows what this process changes at once, and what another one changes when its time is over", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const [here, there] = [over(store, { verifyCache: { ttl: 1_000 } }), over(store)]
      const context = yield* Layer.build(here)
      const inProcess = Effect.provide(context)
      const { id, key } = yield* inProcess(make)
      assert.isTrue(yield* inProcess(verify(key)))
      const remove = Effect.flatMap(ApiKeys, (keys) => keys.remove(bucket, "alice", id))
      yield* Effect.provide(remove, there)
      assert.isTrue(yield* inProcess(verify(key)))
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* inProcess(verify(key)))

      const { id: second, key: value } = (yield* inProcess(
        Effect.flatMap(ApiKeys, (keys) => keys.create(bucket, "alice", {}))
      )).value
      assert.isTrue(yield* inProcess(verify(value)))
      yield* inProcess(Effect.flatMap(ApiKeys, (keys) => keys.remove(bucket, "alice", second)))
      assert.isFalse(yield* inProcess(verify(value)))
    })
  )

  it.effect("forgets what was changed also when the change was told to have failed", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      let lost = false
      const losing: Store["Service"] = {
        ...store,
        commit: (partition, changes, once) =>
          Effect.flatMap(store.commit(partition, changes, once), (committed) =>
            lost
              ? Effect.fail(
                  new StoreUnavailable({ operation: "commit", problem: "lost", retryable: true, outcome: "unknown" })
                )
              : Effect.succeed(committed)
          )
      }
      const inProcess = Effect.provide(yield* Layer.build(over(losing, { verifyCache: { ttl: 60_000 } })))
      const { id, key } = yield* inProcess(make)
      assert.isTrue(yield* inProcess(verify(key)))
      lost = true
      yield* inProcess(Effect.flip(Effect.flatMap(ApiKeys, (keys) => keys.remove(bucket, "alice", id))))
      assert.isFalse(yield* inProcess(verify(key)))
    })
  )

  it.effect("keeps time by a clock that is not set back", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const inProcess = Effect.provide(yield* Layer.build(over(store, { verifyCache: { ttl: 1_000 } })))
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const { id, key } = yield* inProcess(make)
      assert.isTrue(yield* inProcess(verify(key)))
      yield* TestClock.setTime(Date.UTC(2029, 0, 1))
      assert.isTrue(yield* inProcess(verify(key)))
      yield* Effect.provide(
        Effect.flatMap(ApiKeys, (keys) => keys.remove(bucket, "alice", id)),
        over(store)
      )
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* inProcess(verify(key)))
    })
  )

  it.effect("never outlives an expiry", () =>
    Effect.gen(function* () {
      const { value } = yield* (yield* Consumers).create(bucket, {
        name: alice,
        apiKeys: [{ expiresOn: at("1970-01-01T00:00:01Z") }]
      })
      const key = value.apiKeys?.[0]?.key
      assert.isTrue(yield* verify(key))
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* verify(key))
    }).pipe(Effect.provide(over(MemoryStore.open(), { verifyCache: { ttl: 60_000 } })))
  )
})

describe("a change of secrets", () => {
  const older = "the older secret, of 32 characters"
  const newer = "the newer secret, of 32 characters"
  const create = Effect.gen(function* () {
    const { value } = yield* (yield* Consumers).create(bucket, {
      name: alice,
      apiKeys: [{}, { key: "supplied-by-the-host" }]
    })
    return (value.apiKeys ?? []).map(({ key = "" }) => key)
  })
  const verifyAll = (keys: ReadonlyArray<string>) =>
    Effect.flatMap(ApiKeys, (service) =>
      Effect.forEach(keys, (key) => Effect.map(service.verify(bucket, key), ({ valid }) => valid))
    )
  const reencrypt = Effect.flatMap(ApiKeys, (keys) => keys.reencryptKeys())
  const visible = Effect.flatMap(ApiKeys, (keys) =>
    Effect.map(keys.list(bucket, "alice", { limit: 10, offset: 0, keyFormat: "visible" }), ({ data }) =>
      data.map(({ key }) => key)
    )
  )

  it.effect("keeps every key working before, during and after it is put under the new one", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const keys = yield* Effect.provide(create, over(store, { secret: older }))
      const both = over(store, { secret: [newer, older] })
      assert.deepStrictEqual(yield* Effect.provide(verifyAll(keys), both), [true, true])
      assert.deepStrictEqual(yield* Effect.provide(visible, both), keys)
      const taken = yield* Effect.provide(
        Effect.flip(
          Effect.flatMap(ApiKeys, (service) => service.create(bucket, "alice", { key: "supplied-by-the-host" }))
        ),
        both
      )
      assert.strictEqual(taken._tag, "KeyValueTaken")
      assert.deepStrictEqual(yield* Effect.provide(verifyAll(keys), over(store, { secret: newer })), [false, false])

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
      const after = over(store, { secret: newer })
      assert.deepStrictEqual(yield* Effect.provide(verifyAll(keys), after), [true, true])
      assert.deepStrictEqual(yield* Effect.provide(visible, after), keys)
    })
  )

  it.effect("reaches every key, also those that move up because others are deleted meanwhile", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const made = yield* Effect.provide(
        Effect.gen(function* () {
          yield* (yield* Consumers).create(bucket, { name: alice })
          const keys = yield* ApiKeys
          return (yield* keys.createMany(
            bucket,
            "alice",
            Array.from({ length: 1_000 }, () => ({}))
          )).data
        }),
        over(store, { secret: older })
      )
      // While the first pages are rewritten, keys disappear, from the start and from the end.
      let commits = 0
      const gone = new Set([...made.slice(0, 5), ...made.slice(-5)].map(({ id }) => id as string))
      const shrinking: Store["Service"] = {
        ...store,
        commit: (partition, changes, once) =>
          Effect.gen(function* () {
            if (++commits === 150) {
              const plain = over(store, { secret: [newer, older] })
              const remove = (id: string) => Effect.flatMap(ApiKeys, (keys) => keys.remove(bucket, "alice", id))
              yield* Effect.orDie(Effect.provide(Effect.forEach(gone, remove), plain))
            }
            return yield* store.commit(partition, changes, once)
          })
      }
      yield* Effect.provide(reencrypt, over(shrinking, { secret: [newer, older] }))
      const left = made.filter(({ id }) => !gone.has(id)).map(({ key = "" }) => key)
      const valid = yield* Effect.provide(verifyAll(left), over(store, { secret: newer }))
      assert.strictEqual(valid.filter((one) => !one).length, 0)
      const byOldSecret = yield* Effect.provide(reencrypt, over(store, { secret: newer }))
      assert.deepInclude(byOldSecret, { undecryptable: 0, notStored: 0 })
      const retired = yield* Effect.flip(Effect.provide(verifyAll(left), over(store, { secret: older })))
      assert.strictEqual(retired._tag, "ConfigurationError")
    })
  )

  it.effect("goes on past a seal that does not open, and counts it", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const third = "a third secret, long enough to be one"
      yield* Effect.provide(create, over(store, { secret: third }))
      const second = Effect.flatMap(Consumers, (consumers) =>
        consumers.create(bucket, { name: ConsumerName.make("bob") }, { withApiKey: true })
      )
      yield* Effect.provide(second, over(store, { secret: [older, third] }))
      const counted = yield* Effect.provide(reencrypt, over(store, { secret: [newer, older] }))
      assert.deepStrictEqual(counted, { reencrypted: 1, unchanged: 0, notStored: 0, undecryptable: 2 })
    })
  )

  it.effect("tells of keys whose value is not kept: they need the secret they were made under", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const keys = yield* Effect.provide(create, over(store, { secret: older, keyStorage: "hash-only" }))
      const both = over(store, { secret: [newer, older], keyStorage: "hash-only" })
      assert.deepStrictEqual(yield* Effect.provide(reencrypt, both), {
        reencrypted: 0,
        unchanged: 0,
        notStored: 2,
        undecryptable: 0
      })
      assert.deepStrictEqual(yield* Effect.provide(verifyAll(keys), both), [true, true])
    })
  )

  it.effect("forgets values when retention turned to hashed", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const keys = yield* Effect.provide(create, over(store))
      const hashed = over(store, { keyStorage: "hash-only" })
      assert.strictEqual((yield* Effect.provide(reencrypt, hashed)).reencrypted, 2)
      assert.deepStrictEqual(yield* Effect.provide(verifyAll(keys), hashed), [true, true])
      assert.strictEqual((yield* Effect.flip(Effect.provide(visible, over(store))))._tag, "KeyNotRetained")
    })
  )
})

describe("hashed retention", () => {
  it("shows a value once, and answers 409 to whoever asks again; a replay has no value", async () => {
    const gate = await createTollgate({ store: MemoryStore.open(), secret, keyStorage: "hash-only" })
    const create = () =>
      gate.consumers.create("acme", "b", { name: "alice" }, { withApiKey: true, idempotencyKey: "once" })
    const made = await create()
    const [key] = made.apiKeys ?? []
    assert.match(key?.key ?? "", /^tg_/)
    const { key: _, ...rest } = key ?? { key: "" }
    assert.deepStrictEqual((await create()).apiKeys, [rest as never])
    const read = await gate.keys.get("acme", "b", "alice", key?.id ?? "")
    assert.strictEqual(read.key, `****${key?.key?.slice(-4)}`)
    const refused = await gate.keys
      .get("acme", "b", "alice", key?.id ?? "", { keyFormat: "visible" })
      .catch((error: unknown) => error)
    assert.propertyVal(refused, "_tag", "KeyNotRetained")
    assert.isTrue((await gate.keys.verify("acme", "b", key?.key ?? "")).valid)
    const replaced = await gate.keys.update("acme", "b", "alice", key?.id ?? "", { key: "another-value-entirely" })
    assert.strictEqual(replaced.key, "another-value-entirely")
    await gate.close()
  })

  it("a rolled key is shown when it is made, in process and over HTTP, also where no values are kept", async () => {
    const tokens = [{ token: "management-token", account: "acme", access: "write" }] as const
    const gate = await createTollgate({ store: MemoryStore.open(), secret, keyStorage: "hash-only", tokens })
    const [old] = (await gate.consumers.create("acme", "b", { name: "alice" }, { withApiKey: true })).apiKeys ?? []
    const past = { expiresOn: "2020-01-01T00:00:00Z" }
    const valid = async (key?: string) => (await gate.keys.verify("acme", "b", key ?? "")).valid
    const rolled = await gate.consumers.rollKey("acme", "b", "alice", past, { idempotencyKey: "roll" })
    assert.deepStrictEqual([await valid(old?.key), await valid(rolled.key)], [false, true])
    const again = await gate.consumers.rollKey("acme", "b", "alice", past, { idempotencyKey: "roll" })
    assert.deepStrictEqual([again.id, again.key], [rolled.id, undefined])
    const roll = (headers: Record<string, string> = {}) =>
      gate.handler(
        new Request("http://host/v1/accounts/acme/key-buckets/b/consumers/alice/roll-key", {
          method: "POST",
          headers: { authorization: "Bearer management-token", ...headers },
          body: JSON.stringify(past)
        })
      )
    const response = await roll({ "idempotency-key": "over-http" })
    const key = (await response.json()) as ApiKeyJson
    assert.deepStrictEqual([response.status, response.headers.get("content-type")], [200, "application/json"])
    assert.match(response.headers.get("location") ?? "", new RegExp(`/alice/keys/${key.id}$`))
    assert.deepStrictEqual([await valid(rolled.key), await valid(key.key)], [false, true])
    const replay = (await (await roll({ "idempotency-key": "over-http" })).json()) as ApiKeyJson
    assert.deepStrictEqual([replay.id, replay.key], [key.id, undefined])
    await gate.close()
  })
})

describe("the secret", () => {
  const other = `${secret}, and another`
  const open = (store: StoreOperations, secret: string | ReadonlyArray<string>) => createTollgate({ store, secret })
  const refusal = (store: StoreOperations, secret: string | ReadonlyArray<string>) =>
    open(store, secret).then(
      () => assert.fail("it was taken"),
      (error: unknown) => error
    )

  it("that a store was not used with is refused at start, and the store stays usable", async () => {
    const store = MemoryStore.open()
    const first = await open(store, secret)
    const { apiKeys } = await first.consumers.create("acme", "b", { name: "alice" }, { withApiKey: true })
    await first.close()
    for (const wrong of [other, [other, `${other} still`]]) {
      const error = await refusal(store, wrong)
      assert.deepInclude(error, { _tag: "ConfigurationError", option: "secret" })
      assert.match(String(error), /used with another secret/)
      assert.notInclude(String(error), other)
    }
    const again = await open(store, secret)
    assert.isTrue((await again.keys.verify("acme", "b", apiKeys?.[0]?.key ?? "")).valid)
    await again.close()
  })

  it("of a new store is one, although two processes with different ones start at once", async () => {
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

  it("that stands in documentation is refused", async () => {
    const error = await refusal(MemoryStore.open(), "at least 32 characters, kept as you keep a password")
    assert.deepInclude(error, { _tag: "ConfigurationError", option: "secret" })
  })

  it("can be replaced: given first, with the old one behind it until all keys are under the new one", async () => {
    const store = MemoryStore.open()
    await (await open(store, secret)).close()
    const gate = await open(store, [other, secret])
    const { apiKeys } = await gate.consumers.create("acme", "b", { name: "alice" }, { withApiKey: true })
    await gate.keys.reencryptKeys()
    await gate.close()
    assert.deepInclude(await refusal(store, secret), { _tag: "ConfigurationError", option: "secret" })
    const replaced = await open(store, other)
    assert.isTrue((await replaced.keys.verify("acme", "b", apiKeys?.[0]?.key ?? "")).valid)
    await replaced.close()
  })
})

describe("callers in the process", () => {
  it("are checked as callers over HTTP are", async () => {
    const gate = await createTollgate({ store: MemoryStore.open(), secret })
    await gate.consumers.create("acme", "b", { name: "alice", tags: { env: "prod" } }, { withApiKey: true })
    const roll = (options: object) =>
      gate.consumers.rollKey("acme", "b", "alice", { expiresOn: "2030-01-01T00:00:00Z" }, options)
    const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`)
    const refused: ReadonlyArray<() => Promise<unknown>> = [
      () => roll({ gaurd: { env: "dev" } }),
      () => roll({ idempotencyKey: "" }),
      () => gate.consumers.create("acme", "b", { name: "bob" }, { withApiKeys: true } as never),
      () => gate.consumers.create("acme", "b", { name: "bob" }, { withApiKey: "true" } as never),
      () => gate.consumers.create("acme", "b", { name: "bob", description: "half \ud800" }),
      () => gate.consumers.create("acme", "b", { name: "bob", description: "nul \u0000" }),
      () => gate.consumers.create("acme", "b", { name: "bob", metadata: JSON.parse('{"__proto__":1}') }),
      () => gate.consumers.create("acme", "b", { name: "bob", metadata: deep }),
      () => gate.consumers.create("ac me", "b", { name: "bob" }),
      () => gate.consumers.list("acme", "b", { limit: 0 }),
      () => gate.consumers.list("acme", "b", { tags: { "a b": "1" } })
    ]
    for (const call of refused) {
      const error = await call().then(
        () => assert.fail(`it was taken: ${call}`),
        (error: unknown) => error
      )
      assert.propertyVal(error, "_tag", "InvalidInput")
    }
    assert.strictEqual((await gate.keys.list("acme", "b", "alice")).total, 1)
    for (const odd of [undefined, null, 5, {}]) {
      assert.deepStrictEqual(await gate.keys.verify("acme", "b", odd as never), { valid: false, reason: "invalid" })
    }
    await gate.close()
  })

  it("who say in their own way who is calling, and say it badly, let nobody in", async () => {
    for (const principal of [
      null,
      {},
      { id: "x", account: "*" },
      { account: "*", access: "write" },
      { id: "", account: "*", access: "write" }
    ]) {
      const gate = await createTollgate({ store: MemoryStore.open(), secret, authenticate: () => principal as never })
      const answer = await gate.handler(new Request("http://gate/v1/metering"))
      assert.strictEqual(answer.status, 401)
      await gate.close()
    }
  })
})

describe("settings that are wrong", () => {
  const refusal = async (options: object): Promise<ConfigurationError> =>
    createTollgate({ store: MemoryStore.open(), secret, ...options } as never).then(
      () => assert.fail("it was taken"),
      (error) => error
    )

  const notify = (): void => undefined

  it.each([
    [{ secret: undefined }, "secret: set one of at least 32 characters"],
    [{ secret: "" }, "secret: number 1 has fewer than 32 characters"],
    [{ secret: [] }, "secret: set one of at least 32 characters"],
    [{ secret: [secret, "short"] }, "secret: number 2 has fewer than 32 characters"],
    [{ store: undefined }, "store: must be a store"],
    [{ keyPrefix: "Capital" }, "keyPrefix: give 2 to 16"],
    [{ keyPrefix: "x" }, "keyPrefix: give 2 to 16"],
    [{ tokens: [{ token: "short", account: "acme" }] }, "tokens: number 1: token must have at least 16"],
    [{ tokens: [{ token: "x".repeat(20), account: "a b" }] }, "tokens: number 1: account must consist of"],
    [{ tokens: [{ token: "x".repeat(20), account: "a", access: "admin" }] }, 'access must be "read" or "write"'],
    [{ tokens: [], authenticate: () => undefined }, "set one of the two"],
    [{ verifyCache: { ttl: 0 } }, "verifyCache: ttl (in milliseconds)"],
    [{ keyStorage: "hash" }, "keyStorage: give"],
    [{ bodyLimit: Number.NaN }, "bodyLimit: must be a number of bytes"],
    [{ secret: [secret, secret] }, "secret: give each one once"],
    [{ tokens: [{ account: "acme" }] }, "tokens: number 1: token must have"],
    [{ onQuotaThreshold: { thresholds: [2], notify } }, "onQuotaThreshold: thresholds must be"],
    [{ onQuotaThreshold: "often" }, "onQuotaThreshold: must be a function"],
    [{ onQuotaThreshold: { notify } }, "onQuotaThreshold: thresholds must be"],
    [{ authenticate: "me" }, "authenticate: must be a function"],
    [{ keyPrefx: "tg" }, "keyPrefx: unknown option"],
    [{ store: Promise.resolve(MemoryStore.open()) }, "store: is a promise; await it"],
    [
      {
        tokens: [
          { token: "x".repeat(20), account: "a" },
          { token: "x".repeat(20), account: "b" }
        ]
      },
      "tokens: number 2: duplicate token"
    ]
  ])("are refused at creation, with what to set: %j", async (options, message) => {
    const error = await refusal(options)
    assert.strictEqual(error._tag, "ConfigurationError")
    assert.include(error.message, message)
  })
})
