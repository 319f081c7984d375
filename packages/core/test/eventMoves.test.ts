/**
 * The way of events to the log: each arrives once, in the order of its changes, whichever processes are left to move it.
 */

import { MemoryStore } from "@tollgate/memory"
import { Partition, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { copyStore } from "@tollgate/store/copy"
import { isBackgroundCall } from "@tollgate/testing"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { freshAccount, openGate, readLog, types, useGate } from "./eventGates.ts"
import { stores } from "./stores.ts"

const unavailable = (outcome: "not-applied" | "unknown") =>
  new StoreUnavailable({ operation: "commit", problem: "the test says so", retryable: true, outcome })

/** The store of a process that dies before it moves its events: all its other calls work. */
const withoutMoves = (store: StoreOperations): StoreOperations => ({
  ...store,
  list: (partition, queries) =>
    isBackgroundCall("list", partition, queries)
      ? Effect.fail(unavailable("not-applied"))
      : store.list(partition, queries)
})

/** The store of a process that does not learn that it has moved events, every other time. */
const losingReplies = (store: StoreOperations) => {
  let lost = 0
  let commits = 0
  const losing: StoreOperations = {
    ...store,
    commit: (partition, changes, idempotency) => {
      const commit = store.commit(partition, changes, idempotency)
      const isMove = partition !== Partition.jobsDirectory && isBackgroundCall("commit", partition, changes)
      if (!isMove || ++commits % 2 === 0) return commit
      lost++
      return Effect.andThen(commit, Effect.fail(unavailable("unknown")))
    }
  }
  return { store: losing, lost: () => lost }
}

/** Writes 1 + 450 + 3 events in three partitions. */
const write = async (gate: Awaited<ReturnType<typeof openGate>>, accountName: string) => {
  const account = gate.account(accountName)
  const { consumers, keys } = account.keyBucket("production")
  await consumers.create({ name: "alice" })
  const { data } = await keys.createMany(
    "alice",
    Array.from({ length: 450 }, () => ({}))
  )
  const billing = await account.meteringBuckets.ensure("billing")
  const plan = await billing.plans.create({ label: "pro", meters: { requests: { max: 5 } } })
  await billing.plans.update(plan.id, { label: "Pro" })
  return { billing, keyIds: data.map(({ id }) => id) }
}

const allTypes = [
  "consumer.created",
  ...Array.from({ length: 450 }, () => "key.created"),
  "metering_bucket.created",
  "plan.created",
  "plan.updated"
]

/** The ids of keys in the order of their events. */
const getKeyIds = (log: Awaited<ReturnType<typeof readLog>>) =>
  log.flatMap(({ type, subject }) => (type === "key.created" ? [subject.id] : []))

describe.each(stores)("events, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const read = (accountName: string) => readLog(store(), gate(), accountName)

  it("arrive once, in order, through others when the process that wrote them has died", async () => {
    const accountName = freshAccount()
    const dying = await openGate(withoutMoves(store()))
    const { keyIds } = await write(dying, accountName)
    await dying.close()
    const others = await Promise.all([1, 2, 3].map(() => openGate(store())))
    const log = await read(accountName)
    await Promise.all(others.map((other) => other.close()))
    expect([...types(log)].sort()).toEqual(allTypes)
    expect(getKeyIds(log)).toEqual(keyIds)
    expect(new Set(log.map(({ id }) => id)).size).toBe(log.length)
    expect(await read(accountName)).toEqual(log)
  })

  it("arrive once when processes do not learn that they have moved them", async () => {
    const accountName = freshAccount()
    const { store: losing, lost } = losingReplies(store())
    const first = await openGate(losing)
    const { keyIds } = await write(first, accountName)
    const log = await read(accountName)
    await first.close()
    expect(lost()).toBeGreaterThan(2)
    expect([...types(log)].sort()).toEqual(allTypes)
    expect(getKeyIds(log)).toEqual(keyIds)
  })

  it("are in the order of the commits, one for each, when two processes update one consumer 50 times at once", async () => {
    const accountName = freshAccount()
    const other = await openGate(store())
    const consumersOf = (gate: typeof other) => gate.account(accountName).keyBucket("production").consumers
    await consumersOf(gate()).create({ name: "alice" })
    const update = async (index: number) => {
      const consumers = consumersOf(index % 2 === 0 ? gate() : other)
      for (;;) {
        try {
          const { version } = await consumers.update("alice", { description: String(index) })
          return { version, description: String(index) }
        } catch (error) {
          expect(error).toMatchObject({ _tag: "StoreConflict" })
        }
      }
    }
    const updates = await Promise.all(Array.from({ length: 50 }, (_, index) => update(index)))
    const inOrder = updates.sort((left, right) => left.version - right.version).map(({ description }) => description)
    const [created, ...updated] = await read(accountName)
    await other.close()
    expect(created?.type).toBe("consumer.created")
    expect(updated.map(({ data }) => data["description"])).toEqual(inOrder)
    const dates = updated.map(({ data }) => String(data["updatedOn"]))
    expect(dates).toEqual(dates.toSorted())
  })

  it("arrive when their metering bucket is removed before they were moved", async () => {
    const accountName = freshAccount()
    const dying = await openGate(withoutMoves(store()))
    const { billing } = await write(dying, accountName)
    await gate().account(accountName).meteringBuckets.remove(billing.id)
    await dying.close()
    const other = await openGate(store())
    const log = await read(accountName)
    await other.close()
    expect([...types(log)].sort()).toEqual([...allTypes, "metering_bucket.deleted"].sort())
    const ofPlan = log.filter(({ subject }) => subject.type === "plan")
    expect(types(ofPlan)).toEqual(["plan.created", "plan.updated"])
  })
})

describe("a copy of a store", () => {
  it("goes on with events that were not moved, each once", async () => {
    const [from, to] = [MemoryStore.open(), MemoryStore.open()]
    const first = await openGate(from)
    await first.account("acme").keyBucket("production").consumers.create({ name: "bob" })
    const [bob] = await readLog(from, first, "acme")
    await first.close()
    const dying = await openGate(withoutMoves(from))
    const { keyIds } = await write(dying, "acme")
    await dying.close()
    await copyStore(from, to)
    const gate = await openGate(to)
    const log = await readLog(to, gate, "acme")
    expect(log[0]).toEqual(bob)
    expect([...types(log.slice(1))].sort()).toEqual(allTypes)
    expect(getKeyIds(log)).toEqual(keyIds)
    await gate.account("acme").keyBucket("production").consumers.update("bob", {})
    expect(types(await readLog(to, gate, "acme")).at(-1)).toBe("consumer.updated")
    await gate.close()
  })
})
