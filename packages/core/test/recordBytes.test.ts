/**
 * The bytes of an account's records, measured in the store.
 */
import { createTollgate, LimitReached, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Change, Partition, Store, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { waitForEvents } from "@tollgate/testing"
import { Effect, Latch, Layer, Scope } from "effect"
import { describe, expect, it } from "vitest"
import { withAllModules } from "./allModules.ts"
import { grants, secret, stores, tokens } from "./stores.ts"

/** Events have a bound of their own; decisions write the names of meters, and jobs when periods are closed. */
const uncounted = /^(event|outbox|meters|period-closing)\//

/** A store that knows the bytes of all bodies in the partitions of accounts, and how often it was called. */
const makeMeasuredStore = (inner: StoreOperations) => {
  const bodies = new Map<string, number>()
  let calls = 0
  const measure = (partition: string): number => {
    let total = 0
    for (const [key, bytes] of bodies) if (key.startsWith(`${partition} `)) total += bytes
    return total
  }
  const count = <A>(result: A): A => {
    calls++
    return result
  }
  const store: StoreOperations = {
    ...inner,
    get: (...args) => count(inner.get(...args)),
    getByUniqueKey: (...args) => count(inner.getByUniqueKey(...args)),
    list: (...args) => count(inner.list(...args)),
    counters: (...args) => count(inner.counters(...args)),
    commit: (partition, changes, idempotency) =>
      Effect.tap(count(inner.commit(partition, changes, idempotency)), ({ replayed }) => {
        if (replayed !== undefined) return Effect.void
        for (const change of changes) {
          if (change._tag === "Put" && !uncounted.test(change.key)) {
            bodies.set(`${partition} ${change.key}`, Buffer.byteLength(change.body))
          }
          if (change._tag === "Delete") bodies.delete(`${partition} ${change.key}`)
        }
        return Effect.void
      })
  }
  return {
    store,
    measure: (...partitions: ReadonlyArray<string>) => partitions.reduce((sum, name) => sum + measure(name), 0),
    calls: () => calls
  }
}

const withGates = async (
  options: Partial<Omit<TollgateOptions, "modules">> & { readonly store: TollgateOptions["store"] },
  count: number,
  run: (...gates: ReadonlyArray<Tollgate>) => Promise<void>
): Promise<void> => {
  const gates = await Promise.all(
    Array.from({ length: count }, () => createTollgate({ secret, tokens: grants, ...withAllModules(), ...options }))
  )
  try {
    await run(...gates)
  } finally {
    for (const gate of gates) await gate.close()
  }
}

const metadata = { text: "é".repeat(5_000) }
const limit = 400_000
const limits = { recordBytesPerAccount: limit }

/** Creates consumers with 10 kB of metadata until one is refused. Returns how many there are. */
const fill = async (gates: ReadonlyArray<Tollgate>, prefix = "c"): Promise<number> => {
  for (let index = 0; index < 1_000; index++) {
    const bucket = gates[index % gates.length]?.account("acme").keyBucket("production")
    try {
      await bucket?.consumers.create({ name: `${prefix}${index}`, metadata }, { idempotencyKey: `${prefix}${index}` })
    } catch (error) {
      expect(error).toBeInstanceOf(LimitReached)
      expect(error).toMatchObject({ limit: "recordBytesPerAccount", max: limit })
      return index
    }
  }
  return expect.fail("Nothing was refused")
}

const readUsed = async (gate: Tollgate) => (await gate.accounts.get("acme")).recordBytes.used

describe.each(stores)("the bytes of an account's records, on %s", (_, layer) => {
  it("have a maximum, in two processes on one store", async () => {
    const scope = Scope.makeUnsafe()
    const inner = await Effect.runPromise(Effect.map(Layer.buildWithScope(layer, scope), (context) => context))
    const { store, measure } = makeMeasuredStore(Effect.runSync(Effect.provideContext(Store, inner)))
    await withGates({ store, limits }, 2, async (first, second) => {
      if (first === undefined || second === undefined) return expect.fail()
      const created = await fill([first])
      // Each is 10 kB, and its recorded response 13 kB.
      expect(created).toBe(16)
      expect(measure("keys/acme/production", "events/acme")).toBeLessThan(limit / 2)
      await first.close()
      // The other process has read nothing yet.
      expect(await fill([second], "d")).toBe(0)
      expect(await readUsed(second)).toBeLessThanOrEqual(limit)
      // Another account is not affected.
      await second.account("other").keyBucket("production").consumers.create({ name: "alice", metadata })
    })
    await Effect.runPromise(Scope.close(scope, { _tag: "Success", value: undefined } as never))
  })
})

describe("the bytes of an account's records", () => {
  it("are what the store has: after creating, changing and removing", async () => {
    const { store, measure } = makeMeasuredStore(MemoryStore.open())
    await withGates({ store }, 1, async (gate) => {
      if (gate === undefined) return expect.fail()
      const account = gate.account("acme")
      const { consumers } = account.keyBucket("production")
      const bucket = await account.meteringBuckets.ensure("default")
      const check = async () => {
        // The relay writes a moment later.
        await expect
          .poll(async () => [
            await readUsed(gate),
            measure("keys/acme/production", "events/acme", `metering/${bucket.id}`)
          ])
          .toSatisfy(([used, stored]) => used === stored)
      }
      await consumers.create({ name: "alice", metadata }, { withApiKey: true })
      await check()
      await consumers.update("alice", { metadata: { text: "short" } })
      await consumers.rollKey("alice", { expiresOn: "2020-01-01T00:00:00Z" })
      await check()
      await bucket.plans.create({ planExternalId: "pro", meters: { requests: { max: 10 } } })
      await bucket.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
      await check()
      await consumers.remove("alice")
      await check()
      await account.meteringBuckets.remove(bucket.id)
      await expect
        .poll(async () => [await readUsed(gate), measure("keys/acme/production", "events/acme")])
        .toSatisfy(([used, stored]) => used === stored)
    })
  })

  it("are given back by removals, and decisions go on at the maximum", async () => {
    await withGates({ store: MemoryStore.open(), limits }, 1, async (gate) => {
      if (gate === undefined) return expect.fail()
      const account = gate.account("acme")
      const production = account.keyBucket("production")
      const bucket = await account.meteringBuckets.ensure("default")
      await bucket.plans.create({ planExternalId: "pro", meters: { requests: { max: 1_000 } } })
      await bucket.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
      const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
      const created = await fill([gate])
      const key = apiKeys[0].key
      for (let call = 0; call < 100; call++) {
        const decision = await production.authorize(key, {
          metering: { meteringBucketId: bucket.id, meters: { requests: 1 } },
          rateLimit: { limit: 1_000, per: "minute" }
        })
        expect(decision).toMatchObject({ allowed: true })
      }
      // A request that was applied is answered again.
      const again = { name: "c0", metadata }
      expect(await production.consumers.create(again, { idempotencyKey: "c0" })).toMatchObject({ name: "c0" })
      // A key can be disabled, and records can be removed.
      const [listed] = (await production.keys.list("alice")).data
      await production.keys.update("alice", listed?.id ?? "", { disabled: true })
      expect(await production.verify(key)).toMatchObject({ valid: false })
      // A recorded response counts for two days, so more than half of the bytes stay.
      for (let index = 0; index < created; index++) await production.consumers.remove(`c${index}`)
      await production.consumers.create({ name: "fits", metadata })
    })
  })

  it("are counted again before a refusal, if a process died before it had added its bytes", async () => {
    const { store, measure } = makeMeasuredStore(MemoryStore.open())
    const total = Partition.forAccount("acme")
    const dying: StoreOperations = {
      ...store,
      commit: (partition, ...rest) => (partition === total ? Effect.never : store.commit(partition, ...rest))
    }
    const counted = () => measure("keys/acme/production", "events/acme")
    const process = await createTollgate({ store: dying, secret, limits })
    const { consumers } = process.account("acme").keyBucket("production")
    for (let index = 0; index < 10; index++) await consumers.create({ name: `lost${index}`, metadata })
    await Effect.runPromise(waitForEvents(store))
    const lost = counted()
    await withGates({ store, limits }, 1, async (gate) => {
      if (gate === undefined) return expect.fail()
      expect(await readUsed(gate)).toBe(0)
      const { consumers } = gate.account("acme").keyBucket("production")
      const refused = expect.objectContaining({ limit: "recordBytesPerAccount" })
      let index = 0
      for (let isFull = false; !isFull; index++) {
        isFull = await consumers.create({ name: `c${index}`, metadata }).then(
          () => false,
          (error) => {
            expect(error).toEqual(refused)
            return true
          }
        )
      }
      expect(counted()).toBeLessThan(limit + lost)
      await Effect.runPromise(waitForEvents(store))
      expect(await readUsed(gate)).toBe(counted())
      for (let removed = 0; removed < index - 1; removed++) await consumers.remove(`c${removed}`)
    })
    // A number that is too high is corrected too.
    await Effect.runPromise(store.commit(total, [Change.Add({ counter: "bytes", by: limit, ttl: 60_000 })]))
    await withGates({ store, limits }, 1, async (gate) => {
      if (gate === undefined) return expect.fail()
      await gate.account("acme").keyBucket("production").consumers.create({ name: "fits", metadata })
      await Effect.runPromise(waitForEvents(store))
      expect(await readUsed(gate)).toBe(counted())
    })
    await process.close()
  })

  it("are counted again exactly when records are written meanwhile", async () => {
    const { store, measure } = makeMeasuredStore(MemoryStore.open())
    const keys = Partition.make("keys", "acme", "production")
    let write: Effect.Effect<void> | undefined
    const counters: StoreOperations["counters"] = (partition, names) =>
      Effect.tap(store.counters(partition, names), () => {
        const writing = partition === keys ? write : undefined
        if (writing !== undefined) write = undefined
        return writing ?? Effect.void
      })
    await withGates({ store, limits }, 1, async (gate) => {
      const bucket = gate?.account("acme").keyBucket("production")
      for (let index = 0; index < 4; index++) await bucket?.consumers.create({ name: `c${index}`, metadata })
    })
    await Effect.runPromise(
      store.commit(Partition.forAccount("acme"), [Change.Add({ counter: "bytes", by: limit, ttl: 60_000 })])
    )
    await withGates({ store: { ...store, counters }, limits }, 1, async (gate) => {
      if (gate === undefined) return expect.fail()
      const { consumers } = gate.account("acme").keyBucket("production")
      write = Effect.promise(() => consumers.remove("c0"))
      await consumers.create({ name: "fits", metadata })
      expect(write).toBeUndefined()
      await Effect.runPromise(waitForEvents(store))
      expect(await readUsed(gate)).toBe(measure("keys/acme/production", "events/acme"))
    })
  })

  it("count while they are added to the total", async () => {
    const inner = MemoryStore.open()
    const total = Partition.forAccount("acme")
    const adding = Latch.makeUnsafe()
    const mayAdd = Latch.makeUnsafe()
    const store: StoreOperations = {
      ...inner,
      commit: (partition, ...rest) => {
        if (partition !== total) return inner.commit(partition, ...rest)
        return adding.open.pipe(Effect.andThen(mayAdd.await), Effect.andThen(inner.commit(partition, ...rest)))
      }
    }
    await withGates({ store, limits }, 1, async (gate) => {
      if (gate === undefined) return expect.fail()
      await gate.account("acme").keyBucket("production").consumers.create({ name: "first", metadata })
      await Effect.runPromise(adding.await)
      expect(await readUsed(gate)).toBeGreaterThan(10_000)
      await Effect.runPromise(mayAdd.open)
      expect(await fill([gate])).toBe(16)
    })
  })

  it("do not stop the writes of an account if its total can be neither read nor written", async () => {
    const inner = MemoryStore.open()
    const unavailable = Effect.fail(
      new StoreUnavailable({ operation: "counters", outcome: "not-applied", cause: "away" })
    )
    const total = Partition.forAccount("acme")
    const store: StoreOperations = {
      ...inner,
      counters: (partition, names) => (partition === total ? unavailable : inner.counters(partition, names)),
      commit: (partition, ...rest) => (partition === total ? unavailable : inner.commit(partition, ...rest))
    }
    await withGates({ store, limits }, 1, async (gate) => {
      const { consumers } = gate?.account("acme").keyBucket("production") ?? expect.fail()
      for (let index = 0; index < 10; index++) await consumers.create({ name: `c${index}`, metadata })
      expect((await consumers.list()).total).toBe(10)
    })
  })

  it("cost a decision nothing", async () => {
    const { store, calls } = makeMeasuredStore(MemoryStore.open())
    await withGates({ store }, 1, async (gate) => {
      if (gate === undefined) return expect.fail()
      const production = gate.account("acme").keyBucket("production")
      const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
      await production.authorize(apiKeys[0].key, { rateLimit: { limit: 1_000, per: "minute" } })
      const before = calls()
      for (let call = 0; call < 10; call++) {
        await production.authorize(apiKeys[0].key, { rateLimit: { limit: 1_000, per: "minute" } })
      }
      expect(calls() - before).toBe(20)
    })
  })

  it("are shown over HTTP", async () => {
    await withGates({ store: MemoryStore.open() }, 1, async (gate) => {
      if (gate === undefined) return expect.fail()
      const get = (account: string) =>
        gate.handler(
          new Request(`http://gate/v1/accounts/${account}`, { headers: { authorization: `Bearer ${tokens.writer}` } })
        )
      const response = await get("acme")
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({
        name: "acme",
        recordBytes: { used: 0, max: 2 * 1024 ** 3 },
        deploymentBytes: { used: 0, max: 10 * 1024 ** 3 }
      })
      expect((await get("other")).status).toBe(403)
    })
  })
})
