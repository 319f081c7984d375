/**
 * Accounts take turns: one with thousands of partitions delays the events of no other account.
 */

import { MemoryStore } from "@tollgate/memory"
import { Partition, Store, type StoreOperations } from "@tollgate/store"
import { eventually } from "@tollgate/testing"
import { Context, Effect, Latch, Layer, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { SecretBox } from "../../store/src/crypto/SecretBox.ts"
import { AccountName } from "../../store/src/schema/Names.ts"
import { DeliveryWorker } from "../../webhooks/src/DeliveryWorker.ts"
import { jobsLayer } from "../src/jobs/jobsLayer.ts"
import { WorkSignals } from "../src/jobs/WorkSignals.ts"
import { outboxStoreLayer } from "../src/outbox/outboxStore.ts"
import { recordEvent } from "../src/outbox/recordEvent.ts"
import { eventRelayLayer } from "../src/relay/EventRelay.ts"
import { instruments } from "../src/telemetry/instruments.ts"
import { Telemetry, type TelemetryShape } from "../src/telemetry/Telemetry.ts"
import { secret } from "./secrets.ts"

const partitions = 600
const ofQuiet = Partition.forMeteringBucket("mb_quiet")

const leaveEvent = Effect.fnUntraced(function* (
  store: StoreOperations,
  partition: Partition.Partition,
  accountName: string
) {
  const subject = { type: "consumer", id: "csmr_1" } as const
  const fields = { accountName: AccountName.make(accountName), subject, data: {} }
  yield* store.commit(partition, [yield* recordEvent("consumer.created", fields)])
})

/** An event of one account in each of 1,200 partitions, then one of another account. */
const leaveEvents = Effect.fnUntraced(function* (store: StoreOperations) {
  for (let index = 0; index < partitions; index++) {
    yield* leaveEvent(store, Partition.forKeyBucket("busy", `bucket-${index}`), "busy")
    yield* leaveEvent(store, Partition.forMeteringBucket(`mb_${index}`), "busy")
  }
  yield* leaveEvent(store, ofQuiet, "quiet")
})

/** A store whose outboxes can be read only after `open`. `moved` are the logs to which events were moved, in order. */
const holdMoves = (store: StoreOperations) => {
  const latch = Latch.makeUnsafe()
  const moved: Array<string> = []
  const held: StoreOperations = {
    ...store,
    list: (partition, queries) =>
      queries.some(({ indexTerms }) => indexTerms[0] === "outbox")
        ? Effect.andThen(latch.await, store.list(partition, queries))
        : store.list(partition, queries),
    commit: (partition, changes, idempotency) => {
      if (changes.some((change) => change._tag === "Put" && change.key.startsWith("event/"))) moved.push(partition)
      return store.commit(partition, changes, idempotency)
    }
  }
  return { held, moved, open: latch.open }
}

/** A process that only writes and moves events. `awaitStarted` waits until all that was left waits for its turn. */
const startRelay = (store: StoreOperations) => {
  let countQueue = () => 0
  const telemetry: TelemetryShape = {
    isBridged: false,
    series: () => () => undefined,
    observe: (instrument, read) => {
      if (instrument === instruments.eventQueue) countQueue = read
      return () => undefined
    },
    format: async () => ""
  }
  const relay = Layer.provideMerge(eventRelayLayer, outboxStoreLayer).pipe(
    Layer.provide(DeliveryWorker.layer),
    Layer.provideMerge(jobsLayer),
    Layer.provide([
      SecretBox.layer({ secrets: [Redacted.make(secret)] }),
      Layer.succeed(Store, store),
      Layer.succeed(Telemetry, telemetry)
    ])
  )
  return Effect.map(Layer.build(Layer.fresh(relay)), (context) => {
    const signals = Context.get(context, WorkSignals)
    const awaitStarted = Effect.gen(function* () {
      yield* Effect.promise(() =>
        eventually(() => expect([countQueue(), signals.count()]).toEqual([2 * partitions + 1, 0]))
      )
      // The fibers run, up to where they wait.
      for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow
    })
    return { store: Context.get(context, Store), awaitStarted }
  })
}

describe("the events of an account", () => {
  it("wait for the turn of another account, and not for all its partitions", () => {
    const { held, moved, open } = holdMoves(MemoryStore.open())
    return Effect.gen(function* () {
      const { store, awaitStarted } = yield* startRelay(held)
      yield* leaveEvents(store)
      // The relay has them all: it waits for four, and the others for their turn.
      yield* awaitStarted
      yield* open
      const log = Partition.forEvents("quiet")
      yield* Effect.promise(() => eventually(() => expect(moved).toContain(log)))
      // It is the second, unless it takes long: then those of the other account go on meanwhile.
      expect(moved.indexOf(log)).toBeLessThanOrEqual(100)
      yield* Effect.promise(() => eventually(() => expect(moved).toHaveLength(2 * partitions + 1)))
    }).pipe(Effect.scoped, Effect.runPromise)
  })

  it("wait for the turn of another account also when a process takes them over from one that has ended", () => {
    const store = MemoryStore.open()
    const { held } = holdMoves(store)
    const taking = holdMoves(store)
    return Effect.gen(function* () {
      // It cannot read its outboxes, so it leaves all events to others.
      yield* Effect.scoped(Effect.flatMap(startRelay(held), ({ store }) => leaveEvents(store)))
      const readKeys = Effect.map(
        store.list(Partition.jobsDirectory, [{ indexTerms: ["held"], offset: 0, limit: 10_000 }]),
        ([page]) => page?.records.map(({ key }) => key) ?? []
      )
      const before = new Set(yield* readKeys)
      const { awaitStarted } = yield* startRelay(taking.held)
      yield* Effect.promise(() =>
        eventually(async () => {
          const keys = await Effect.runPromise(readKeys)
          expect(keys).toHaveLength(2 * partitions + 1)
          expect(keys.some((key) => before.has(key))).toBe(false)
        })
      )
      yield* awaitStarted
      yield* taking.open
      const log = Partition.forEvents("quiet")
      yield* Effect.promise(() => eventually(() => expect(taking.moved).toHaveLength(2 * partitions + 1)))
      // It is the last one that is taken over.
      expect(taking.moved.indexOf(log)).toBeLessThan(partitions)
    }).pipe(Effect.scoped, Effect.runPromise)
  })
})
