/**
 * Consumers with more keys than one commit changes: removals and rolls are one small commit, which all readers see at once,
 * and a job writes them to the keys.
 */
import { createTollgate, type Tollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Partition, Store, type StoreOperations } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { eventually, isBackgroundCall } from "@tollgate/testing"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { removeOrphans } from "../src/keys/removedConsumers.ts"
import { finishAllRolls } from "../src/keys/rolls.ts"
import { secret } from "./secrets.ts"
import { stores } from "./stores.ts"

const count = 450
const hour = 3_600_000

const open = (store: StoreOperations, background = true) => createTollgate({ store, secret, background })

const createKeys = async (gate: Tollgate, bucketName: string, keys: ReadonlyArray<object>, name = "alice") => {
  const bucket = gate.account("acme").keyBucket(bucketName)
  await bucket.consumers.create({ name, tags: { plan: "pro" } })
  const { data } = await bucket.keys.createMany(name, keys)
  return { bucket, values: data.map(({ key = "" }) => key), ids: data.map(({ id }) => id) }
}

const many = Array.from({ length: count }, () => ({}))

type Bucket = Awaited<ReturnType<typeof createKeys>>["bucket"]

const countValid = async (bucket: Bucket, values: ReadonlyArray<string>) => {
  const results = await Promise.all(values.map((value) => bucket.verify(value)))
  return results.filter(({ valid }) => valid).length
}

/** How many keys the largest commit changes. */
const watchCommits = (store: StoreOperations) => {
  let largest = 0
  const watched: StoreOperations = {
    ...store,
    commit: (partition, changes, idempotency) => {
      const ofKeys = changes.filter((change) => "key" in change && change.key.startsWith("key/"))
      largest = Math.max(largest, ofKeys.length)
      return store.commit(partition, changes, idempotency)
    }
  }
  return {
    watched,
    takeLargest: () => {
      const taken = largest
      largest = 0
      return taken
    }
  }
}

describe.each(stores)("a consumer with many keys, on %s", (_, layer) => {
  const scope = Scope.makeUnsafe()
  let store: StoreOperations
  let [server, script]: [Tollgate, Tollgate] = [undefined as never, undefined as never]
  const { watched, takeLargest } = watchCommits({
    get: (...args) => store.get(...args),
    getByUniqueKey: (...args) => store.getByUniqueKey(...args),
    list: (...args) => store.list(...args),
    search: (...args) => store.search(...args),
    counters: (...args) => store.counters(...args),
    commit: (...args) => store.commit(...args),
    clear: (...args) => store.clear(...args)
  })
  beforeAll(async () => {
    store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
    script = await open(watched, false)
  })
  afterAll(async () => {
    await script.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const getPartition = (bucketName: string) => Partition.forKeyBucket("acme", bucketName)

  const countRecords = async (bucketName: string, term: string) => {
    const [page] = await Effect.runPromise(
      store.list(`keys/acme/${bucketName}` as never, [{ indexTerms: [term], offset: 0, limit: 0 }])
    )
    return page?.total ?? 0
  }

  /** Lets a change and a part of what its job writes come before a store call of each read. Keys are then all as before or after. */
  const expectOneMoment = async (
    label: string,
    call: number,
    change: (bucket: Bucket) => Promise<unknown>,
    countKeys: (keys: ReadonlyArray<{ readonly expiresOn?: string }>) => number
  ) => {
    const reads: Record<string, (bucket: Bucket) => Promise<ReadonlyArray<{ readonly expiresOn?: string }>>> = {
      keys: async (bucket) => (await bucket.keys.list("alice", { limit: 1_000 })).data,
      consumer: async (bucket) => (await bucket.consumers.get("alice", { apiKeys: true })).apiKeys ?? [],
      consumers: async (bucket) => (await bucket.consumers.list({ apiKeys: true })).data[0]?.apiKeys ?? []
    }
    for (const [name, read] of Object.entries(reads)) {
      const bucketName = `${label}-${name}-${call}`
      const { bucket } = await createKeys(script, bucketName, many.slice(0, 150))
      // As the job does before it dies after its first commit.
      const work = Effect.gen(function* () {
        yield* Effect.promise(() => change(bucket))
        let commits = 0
        const commit: StoreOperations["commit"] = (...args) =>
          ++commits > 1 ? Effect.die("killed") : store.commit(...args)
        const partition = getPartition(bucketName)
        yield* Effect.andThen(finishAllRolls(partition), removeOrphans(partition)).pipe(
          Effect.provideService(Store, { ...store, commit }),
          Effect.exit
        )
      })
      const faulty = makeFaultyStore(store, isBackgroundCall)
      const reader = await open(faulty.store, false)
      faulty.injectAt(call, { interleave: work })
      const seen = await read(reader.account("acme").keyBucket(bucketName)).then(countKeys, ({ _tag }) => _tag)
      const all = name === "consumers" ? 100 : 150
      expect([0, all, "ConsumerNotFound"], bucketName).toContain(seen)
      await reader.close()
    }
  }

  it("is removed in one small commit: no key is valid from then on, and the records follow", async () => {
    const { bucket, values } = await createKeys(script, "removed", many)
    expect(await countValid(bucket, values)).toBe(count)
    takeLargest()
    await bucket.consumers.remove("alice")
    expect(takeLargest()).toBe(0)
    expect(await countValid(bucket, values)).toBe(0)
    await expect(bucket.consumers.get("alice")).rejects.toMatchObject({ _tag: "ConsumerNotFound" })
    // Another one of the same name has none of the keys.
    const next = await bucket.consumers.create({ name: "alice" }, { withApiKey: true })
    expect(await countValid(bucket, [...values, next.apiKeys?.[0]?.key ?? ""])).toBe(1)
    expect((await bucket.keys.list("alice")).total).toBe(1)
    expect(await countRecords("removed", "key")).toBe(count + 1)
    server = await open(watched)
    await eventually(async () => expect(await countRecords("removed", "key")).toBe(1))
    await eventually(async () => expect(await countRecords("removed", "removed-consumer")).toBe(0))
    expect(takeLargest()).toBe(100)
    expect(await countValid(bucket, values)).toBe(0)
    await server.close()
  })

  it("gives its values free at once when it is removed", async () => {
    const { bucket, values } = await createKeys(script, "values", many)
    await bucket.consumers.remove("alice")
    const [value = ""] = values
    await bucket.consumers.create({ name: "bob", apiKeys: [{ key: value }] })
    // The others stay to the job: a value that is taken must not make a caller remove them all.
    expect(await countRecords("values", "key")).toBe(count)
    expect(await bucket.verify(value)).toMatchObject({ valid: true, consumer: { name: "bob" } })
    await bucket.consumers.create({ name: "carol" })
    await expect(bucket.keys.create("carol", { key: value })).rejects.toMatchObject({ _tag: "KeyValueTaken" })
    const reused = values.slice(1, 4)
    const [updated, ...created] = reused
    const { id } = await bucket.keys.create("carol")
    await bucket.keys.update("carol", id, { key: updated ?? "" })
    await bucket.keys.createMany(
      "carol",
      created.map((key) => ({ key }))
    )
    for (const value of reused) {
      expect(await bucket.verify(value)).toMatchObject({ valid: true, consumer: { name: "carol" } })
    }
    const taken = [{}, { key: values[5] ?? "" }, { key: value }]
    await expect(bucket.keys.createMany("carol", taken)).rejects.toMatchObject({ _tag: "KeyValueTaken", index: 2 })
  })

  it("gives its values free at once, also if the job removes the keys at the same time", async () => {
    for (let call = 1, isOver = false; !isOver; call++) {
      const { bucket, values } = await createKeys(script, "freed", many.slice(0, 150))
      await bucket.consumers.remove("alice")
      const faulty = makeFaultyStore(store, isBackgroundCall)
      const other = await open(faulty.store, false)
      const work = removeOrphans(getPartition("freed")).pipe(Effect.provideService(Store, store), Effect.orDie)
      faulty.injectAt(call, { interleave: work })
      const apiKeys = [{ key: values[0] ?? "" }]
      await other
        .account("acme")
        .keyBucket("freed")
        .consumers.create({ name: `bob-${call}`, apiKeys })
      isOver = faulty.calls() < call
      await other.close()
    }
  })

  it("is rolled in one small commit: all keys have the expiry from then on, and the records follow", async () => {
    const keys = many.map((key, index) => (index === 7 ? { ...key, expiresOn: "2100-01-01T00:00:00.000Z" } : key))
    const { bucket, values, ids } = await createKeys(script, "rolled", keys)
    const before = await bucket.consumers.get("alice")
    const expiresOn = new Date(Date.now() + hour).toISOString()
    takeLargest()
    const rolled = await bucket.consumers.rollKey("alice", { expiresOn })
    expect(takeLargest()).toBe(1)
    const after = await bucket.consumers.get("alice")
    expect(after).toEqual(before)
    const check = async () => {
      expect(await countValid(bucket, values)).toBe(count)
      const { data } = await bucket.keys.list("alice", { limit: 1_000 })
      const expiries = data.map(({ expiresOn }) => expiresOn)
      expect(expiries.filter((expiry) => expiry === expiresOn)).toHaveLength(count - 1)
      expect(expiries[7]).toBe("2100-01-01T00:00:00.000Z")
      expect(expiries.at(-1)).toBeUndefined()
      expect((await bucket.keys.get("alice", ids[0] ?? "")).expiresOn).toBe(expiresOn)
      const [listed] = (await bucket.consumers.list({ apiKeys: true, limit: 1 })).data
      expect(listed?.apiKeys?.[0]?.expiresOn).toBe(expiresOn)
    }
    await check()
    server = await open(watched)
    await eventually(async () => expect(await countRecords("rolled", "consumer/rolling")).toBe(0))
    expect(takeLargest()).toBe(100)
    await server.close()
    await check()
    expect(await bucket.consumers.get("alice")).toEqual(before)
    expect(await bucket.verify(rolled.key ?? "")).toMatchObject({ valid: true })
  })

  it("expires with a roll whose time has come, also before it is written to the keys", async () => {
    const { bucket, values } = await createKeys(script, "past", many)
    const { key = "" } = await bucket.consumers.rollKey("alice", {
      expiresOn: new Date(Date.now() - 1_000).toISOString()
    })
    expect(await countValid(bucket, values)).toBe(0)
    expect(await bucket.verify(values[0] ?? "")).toMatchObject({ valid: false })
    expect(await countValid(bucket, [key])).toBe(1)
  })

  it("keeps the expiry of the first roll when it is rolled again, and what is changed in between", async () => {
    const { bucket, ids } = await createKeys(script, "twice", many)
    const [first, second] = [1, 2].map((hours) => new Date(Date.now() + hours * hour).toISOString())
    const one = await bucket.consumers.rollKey("alice", { expiresOn: first ?? "" })
    const [cleared = "", described = ""] = ids
    await bucket.keys.update("alice", cleared, { expiresOn: null })
    await bucket.keys.update("alice", described, { description: "seen" })
    const two = await bucket.consumers.rollKey("alice", { expiresOn: second ?? "" })
    await bucket.keys.update("alice", cleared, { description: "again" })
    const read = async (id: string) => (await bucket.keys.get("alice", id)).expiresOn
    const check = async () => {
      expect(await read(cleared)).toBe(second)
      expect(await read(described)).toBe(first)
      expect(await read(ids[9] ?? "")).toBe(first)
      expect(await read(one.id)).toBe(second)
      expect(await read(two.id)).toBeUndefined()
    }
    await check()
    server = await open(watched)
    await eventually(async () => expect(await countRecords("twice", "consumer/rolling")).toBe(0))
    await server.close()
    await check()
  })

  it("keeps a roll that comes while the job writes an earlier one", async () => {
    const [first, second] = ["2100-01-01T00:00:00.000Z", "2101-01-01T00:00:00.000Z"]
    for (let call = 1, isOver = false; !isOver; call++) {
      const { bucket } = await createKeys(script, `meanwhile-${call}`, many.slice(0, 150))
      const one = await bucket.consumers.rollKey("alice", { expiresOn: first })
      const faulty = makeFaultyStore(store)
      const roll = Effect.promise(() => bucket.consumers.rollKey("alice", { expiresOn: second }))
      faulty.injectAt(call, { interleave: roll })
      const finish = () => Effect.provideService(finishAllRolls(getPartition(`meanwhile-${call}`)), Store, faulty.store)
      await Effect.runPromise(finish())
      isOver = faulty.calls() < call
      if (isOver) break
      expect((await bucket.keys.get("alice", one.id)).expiresOn, `call ${call}`).toBe(second)
      await Effect.runPromise(finish())
      const { data } = await bucket.keys.list("alice", { limit: 1_000 })
      expect(
        data.map(({ expiresOn }) => expiresOn),
        `call ${call}`
      ).toEqual([...Array.from({ length: 150 }, () => first), second, undefined])
    }
  })

  it("has a key of another version from the roll on, also before it is written to the key", async () => {
    const { bucket, ids } = await createKeys(script, "versions", many)
    const [id = ""] = ids
    const { version: before } = await bucket.keys.get("alice", id)
    await bucket.consumers.rollKey("alice", { expiresOn: new Date(Date.now() + hour).toISOString() })
    const patch = { description: "changed" }
    const stale = bucket.keys.update("alice", id, patch, { ifMatch: before })
    await expect(stale).rejects.toMatchObject({ _tag: "VersionMismatch" })
    await expect(bucket.keys.remove("alice", id, { ifMatch: before })).rejects.toMatchObject({
      _tag: "VersionMismatch"
    })
    const { version } = await bucket.keys.get("alice", id)
    expect(await bucket.keys.update("alice", id, patch, { ifMatch: version })).toMatchObject(patch)
  })

  it("has keys whose version changes once with a roll, and not when the roll is written to them", async () => {
    const { bucket, ids } = await createKeys(script, "stable", many)
    const [id = "", other = ""] = ids
    const { version: before } = await bucket.keys.get("alice", id)
    await bucket.consumers.rollKey("alice", { expiresOn: new Date(Date.now() + hour).toISOString() })
    const { version } = await bucket.keys.get("alice", id)
    expect(version).not.toBe(before)
    // Another change of the consumer is none of its keys.
    await bucket.consumers.update("alice", { description: "new" })
    expect((await bucket.keys.get("alice", id)).version).toBe(version)
    server = await open(watched)
    await eventually(async () => expect(await countRecords("stable", "consumer/rolling")).toBe(0))
    await server.close()
    expect((await bucket.keys.get("alice", id)).version).toBe(version)
    expect((await bucket.keys.get("alice", other)).version).not.toBe(version)
    const updated = await bucket.keys.update("alice", id, { expiresOn: null }, { ifMatch: version })
    expect((await bucket.keys.get("alice", id)).version).toBe(updated.version)
    const { version: last } = await bucket.keys.get("alice", other)
    await bucket.keys.remove("alice", other, { ifMatch: last })
  })

  it("tells with what expiry a key is removed, also before the roll is written to it", async () => {
    const { bucket, ids } = await createKeys(script, "told", many)
    const expiresOn = new Date(Date.now() + hour).toISOString()
    await bucket.consumers.rollKey("alice", { expiresOn })
    await bucket.keys.remove("alice", ids[0] ?? "")
    const [page] = await Effect.runPromise(
      store.list("keys/acme/told" as never, [{ indexTerms: ["outbox"], offset: 0, limit: 1_000 }])
    )
    const bodies = page?.records.map(({ body }) => JSON.parse(body.slice(body.indexOf(" ")))) ?? []
    expect(bodies.find(({ type }) => type === "key.deleted").data).toMatchObject({ id: ids[0], expiresOn })
  })

  it.each([1, 2, 3, 4])("is rolled or not for a reader, if the roll comes before store call %i of a list", (call) =>
    expectOneMoment(
      "moment-of-roll",
      call,
      (bucket) => bucket.consumers.rollKey("alice", { expiresOn: "2100-01-01T00:00:00.000Z" }),
      (keys) => keys.filter(({ expiresOn }) => expiresOn !== undefined).length
    )
  )

  it.each([1, 2, 3, 4])("is there or not for a reader, if the removal comes before store call %i of a list", (call) =>
    expectOneMoment(
      "moment-of-removal",
      call,
      (bucket) => bucket.consumers.remove("alice"),
      (keys) => keys.length
    )
  )

  it("is rolled any number of times before the rolls are written to the keys", async () => {
    const { bucket, ids } = await createKeys(script, "often", many.slice(0, 250))
    const expiresOn = new Date(Date.now() + hour).toISOString()
    for (let roll = 0; roll < 25; roll++) {
      await bucket.consumers.rollKey("alice", { expiresOn })
      const [page] = await Effect.runPromise(
        store.list("keys/acme/often" as never, [{ indexTerms: ["consumer"], offset: 0, limit: 1 }])
      )
      // Every check of a key reads the consumer.
      expect(page?.records[0]?.body.length).toBeLessThan(2_000)
    }
    const { data } = await bucket.keys.list("alice", { limit: 1_000 })
    expect(data.filter((key) => key.expiresOn === undefined)).toHaveLength(1)
    expect(data).toHaveLength(ids.length + 25)
  })

  it("loses no key that is created at the same time", async () => {
    const { bucket, values } = await createKeys(script, "races", many)
    const expiresOn = new Date(Date.now() - 1_000).toISOString()
    const [created, rolled] = await Promise.all([
      bucket.keys.createMany("alice", many.slice(0, 20)),
      bucket.consumers.rollKey("alice", { expiresOn })
    ])
    // Created before or after the roll: all have the expiry, or none.
    const newValues = created.data.map(({ key = "" }) => key)
    expect([0, 20]).toContain(await countValid(bucket, newValues))
    expect(await countValid(bucket, values)).toBe(0)
    expect(await countValid(bucket, [rolled.key ?? ""])).toBe(1)
    const [late] = await Promise.allSettled([bucket.keys.create("alice", {}), bucket.consumers.remove("alice")])
    if (late.status === "fulfilled") expect(await countValid(bucket, [late.value.key ?? ""])).toBe(0)
    server = await open(watched)
    await eventually(async () => expect(await countRecords("races", "key")).toBe(0))
    await server.close()
  })
})

describe.each(["fail", "lose-reply"] as const)("with many keys, at any store call that has the fault %s", (fault) => {
  it.each(["remove", "rollKey"] as const)("%s is done for all keys or for none", async (operation) => {
    for (let call = 1, isOver = false; !isOver; call++) {
      const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open(), isBackgroundCall)
      const gate = await open(store)
      const { bucket, values } = await createKeys(gate, "b", many.slice(0, 250))
      injectAt(call, fault)
      const expiresOn = new Date(Date.now() - 1_000).toISOString()
      const run = () =>
        operation === "remove" ? bucket.consumers.remove("alice") : bucket.consumers.rollKey("alice", { expiresOn })
      await run().catch(() => undefined)
      isOver = calls() < call
      injectAt(0, "fail")
      expect([0, values.length], `call ${call}`).toContain(await countValid(bucket, values))
      await run().catch(() => undefined)
      expect(await countValid(bucket, values), `call ${call}`).toBe(0)
      await gate.close()
    }
  })
})
