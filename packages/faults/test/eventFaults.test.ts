/**
 * Moves events while each store call of the move fails, loses its reply or is delayed, while a second process moves the
 * same events before each call, and while new events are recorded. Each event arrives in the log exactly once, in order.
 */
import { createTollgate } from "@tollgate/core"
import { moveEvents } from "@tollgate/core/internal"
import { MemoryStore } from "@tollgate/memory"
import { Partition, Store, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { type Fault, makeFaultyStore } from "@tollgate/store-testkit"
import { eventually, makeSubscription } from "@tollgate/testing"
import { Effect, Latch } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { listLog, listOutbox, recordNumbers } from "./outboxEvents.ts"
import { getShare, sampleCalls } from "./sample.ts"
import { secret, setUpStore, stores } from "./stores.ts"

const partition = Partition.forKeyBucket("acme", "b")
const move = (store: StoreOperations) => Effect.provideService(moveEvents(partition), Store, store)

/** More than one batch, and two accounts, as in the partition of all metering buckets. */
const accounts = ["acme", "other"]
const numbers = Array.from({ length: 510 }, (_, index) => index)
const getAccount = (number: number) => accounts[number % accounts.length] ?? ""

/** The events that are recorded during a move. */
const laterNumbers = [510, 511, 512, 513]

type OutboxRead = ReturnType<StoreOperations["list"]>

/** A store that changes how outboxes are read. */
const interceptOutboxReads = (
  store: StoreOperations,
  intercept: (partition: Partition.Partition, read: OutboxRead) => OutboxRead
): StoreOperations => ({
  ...store,
  list: (partition, queries) => {
    const read = store.list(partition, queries)
    return queries.some(({ indexTerms }) => indexTerms.includes("outbox")) ? intercept(partition, read) : read
  }
})

const expectAllMoved = async (store: StoreOperations, recorded: ReadonlyArray<number>, label: string) => {
  for (const account of accounts) {
    const expected = recorded.filter((number) => getAccount(number) === account)
    expect(await Effect.runPromise(listLog(store, account)), `${label}, ${account}`).toEqual(expected)
  }
  expect(await Effect.runPromise(listOutbox(store, partition)), label).toEqual([])
}

describe.each(stores)("on %s", (name, layer) => {
  const makeEmptyStore = setUpStore(layer)
  let runs = 0
  afterAll(() => {
    console.log(`moving events, ${name}: ${runs} runs, all events moved once and in order`)
    expect(runs).toBeGreaterThan(50 * getShare(name))
  })

  const faults: Readonly<Record<string, (store: StoreOperations) => Fault>> = {
    "each call fails": () => "fail",
    "each reply is lost": () => "lose-reply",
    "each call is delayed": () => "delay",
    "a second process moves them before each call": (store) => ({ interleave: Effect.ignoreCause(move(store)) }),
    "new events are recorded and moved before each call": (store) => ({
      interleave: Effect.ignoreCause(
        Effect.andThen(recordNumbers(store, partition, laterNumbers, getAccount), move(store))
      )
    })
  }

  it.each(Object.entries(faults))(
    "each event is in the log once and in order when %s",
    async (label, makeFault) => {
      const { first, step } = sampleCalls(getShare(name))
      for (let call = first, isPastLastCall = false; !isPastLastCall; call += step) {
        const store = makeEmptyStore()
        const { store: faulty, injectAt, calls } = makeFaultyStore(store)
        await Effect.runPromise(recordNumbers(store, partition, numbers, getAccount))
        const fault = makeFault(store)
        injectAt(call, fault)
        const outcome = await Effect.runPromiseExit(move(faulty))
        isPastLastCall = calls() < call
        expect(outcome._tag).toBe(
          (fault === "fail" || fault === "lose-reply") && !isPastLastCall ? "Failure" : "Success"
        )
        injectAt(0, "fail")
        await Effect.runPromise(move(faulty))
        const isInterrupted = label.startsWith("new events") && !isPastLastCall
        await expectAllMoved(store, isInterrupted ? [...numbers, ...laterNumbers] : numbers, `call ${call}`)
        runs++
      }
    },
    120_000
  )
})

describe("a metering bucket that is removed with events in its outbox", () => {
  it.each(["fail", "lose-reply"] satisfies ReadonlyArray<Fault>)(
    "has all its events in the log, when any store call of the removal has the fault %s",
    async (fault) => {
      for (let call = 1, isPastLastCall = false; !isPastLastCall; call++) {
        const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
        const gate = await createTollgate({ store, secret })
        const acme = gate.account("acme")
        const { id } = await acme.meteringBuckets.create()
        const { plans, subscriptions } = acme.meteringBucket(id)
        // The relay has not moved these when the removal begins.
        const plan = await plans.create({ label: "P", planExternalId: "p", meters: { requests: { max: 1 } } })
        await subscriptions.create(makeSubscription(plan.id, "p", {}))
        injectAt(call, fault)
        await acme.meteringBuckets
          .remove(id)
          .catch((error) => expect(error).toMatchObject({ _tag: "StoreUnavailable" }))
        isPastLastCall = calls() < call
        injectAt(0, fault)
        await acme.meteringBuckets.remove(id).catch((error) => expect(error._tag).toBe("MeteringBucketNotFound"))
        await gate.close()
        const reopened = await createTollgate({ store, secret })
        const types = await eventually(async () => {
          const { data } = await reopened.account("acme").events.list({ order: "asc" })
          expect(data).toHaveLength(4)
          return data.map(({ type }) => type).sort()
        })
        expect(types, `call ${call}`).toEqual([
          "metering_bucket.created",
          "metering_bucket.deleted",
          "plan.created",
          "subscription.created"
        ])
        await reopened.close()
      }
    },
    120_000
  )
})

describe("a store that is unavailable for a while", () => {
  it("has the events of every partition in the log afterwards, once and in order", async () => {
    let failures = 0
    let isDown = true
    const memory = MemoryStore.open()
    const unavailable = { operation: "list", problem: "down", retryable: true, outcome: "not-applied" } as const
    /** Moving begins with reading an outbox. */
    const store = interceptOutboxReads(memory, (_, read) => {
      if (!isDown) return read
      failures++
      return Effect.fail(new StoreUnavailable(unavailable))
    })
    const gate = await createTollgate({ store, secret })
    const acme = gate.account("acme")
    const buckets = Array.from({ length: 50 }, (_, index) => acme.keyBucket(`b-${index}`))
    for (const { consumers } of buckets) {
      await consumers.create({ name: "alice" })
      for (let revision = 1; revision < 10; revision++) await consumers.update("alice", { metadata: { revision } })
    }
    await eventually(() => expect(failures).toBeGreaterThan(buckets.length))
    expect((await acme.events.list()).total).toBe(0)
    isDown = false
    await eventually(async () => expect((await acme.events.list({ limit: 1 })).total).toBe(10 * buckets.length))
    for (const { consumers } of buckets) {
      const { id } = await consumers.get("alice")
      const { data } = await acme.events.list({ subject: id, order: "asc" })
      expect(data.map(({ data }) => data["metadata"])).toEqual([
        undefined,
        ...Array.from({ length: 9 }, (_, index) => ({ revision: index + 1 }))
      ])
    }
    await gate.close()
  })

  it("delays no events of other partitions when one partition does not answer", async () => {
    const latch = Latch.makeUnsafe()
    const slow = Partition.forKeyBucket("acme", "slow")
    const store = interceptOutboxReads(MemoryStore.open(), (partition, read) =>
      partition === slow ? Effect.andThen(latch.await, read) : read
    )
    const gate = await createTollgate({ store, secret })
    const acme = gate.account("acme")
    const listTotal = async () => (await acme.events.list({ limit: 1 })).total
    for (let index = 1; index <= 3; index++) {
      await acme.keyBucket("slow").consumers.create({ name: `slow-${index}` })
      await acme.keyBucket("b").consumers.create({ name: `fast-${index}` })
      await eventually(async () => expect(await listTotal()).toBe(index))
    }
    latch.openUnsafe()
    await eventually(async () => expect(await listTotal()).toBe(6))
    await gate.close()
  })
})
