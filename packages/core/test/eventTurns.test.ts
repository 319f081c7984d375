/**
 * Accounts take turns: one with thousands of partitions delays the events of no other account.
 */
import { Partition, Store, type StoreOperations } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { eventually } from "@tollgate/testing"
import { Context, Effect, Latch, Layer, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { SecretBox } from "../src/crypto/SecretBox.ts"
import { makeOutboxStore, outboxStoreLayer } from "../src/outbox/outboxStore.ts"
import { RelaySignals } from "../src/outbox/RelaySignals.ts"
import { recordEvent } from "../src/outbox/recordEvent.ts"
import { eventRelayLayer } from "../src/relay/EventRelay.ts"
import { makePollPending } from "../src/relay/pollPending.ts"
import { AccountName } from "../src/schema/Names.ts"
import { DeliveryWorker } from "../src/webhooks/DeliveryWorker.ts"
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

describe("the events of an account", () => {
  it("wait for the turn of another account, and not for all its partitions", () => {
    const { held, moved, open } = holdMoves(MemoryStore.open())
    return Effect.gen(function* () {
      const signals = Context.get(yield* Layer.build(RelaySignals.layer), RelaySignals)
      const relay = Layer.provideMerge(eventRelayLayer, outboxStoreLayer).pipe(
        Layer.provide([DeliveryWorker.layer, Layer.succeed(RelaySignals, signals)]),
        Layer.provide([SecretBox.layer({ secrets: [Redacted.make(secret)] }), Layer.succeed(Store, held)])
      )
      const store = Context.get(yield* Layer.build(relay), Store)
      yield* leaveEvents(store)
      // The relay has them all: it waits for four, and the others for their turn.
      yield* Effect.promise(() => eventually(() => expect(signals.count()).toBe(0)))
      yield* open
      const log = Partition.forEvents("quiet")
      yield* Effect.promise(() => eventually(() => expect(moved).toContain(log)))
      expect(moved.indexOf(log)).toBeLessThanOrEqual(4)
      yield* Effect.promise(() => eventually(() => expect(moved).toHaveLength(2 * partitions + 1)))
    }).pipe(Effect.scoped, Effect.runPromise)
  })

  it("are found in each poll, which visits a bounded number of partitions", () => {
    const store = MemoryStore.open()
    let visited: Array<string> = []
    const all = new Set<string>()
    const poll = makePollPending((partition) => Effect.sync(() => visited.push(partition)))
    return Effect.gen(function* () {
      yield* leaveEvents(makeOutboxStore(store, { add: () => undefined }))
      for (let round = 0; round < 3; round++) {
        visited = []
        yield* Effect.provideService(poll, Store, store)
        expect(visited).toHaveLength(500)
        expect(visited.slice(0, 2)).toContain(ofQuiet)
        for (const partition of visited) all.add(partition)
      }
      // None is left out.
      expect(all.size).toBe(2 * partitions + 1)
    }).pipe(Effect.runPromise)
  })
})
