/**
 * A store for the services: a commit that leaves work for the relay, such as an event, is preceded by an entry in
 * the directory of partitions with such work, and followed by a signal to the relay of this process. No operation can
 * forget either.
 */
import { Effect, Layer } from "effect"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { makeKeyedLocks } from "../runtime/keyedLocks.ts"
import type { Partition } from "../store/Partition.ts"
import { type Change, type Commit, Store, type StoreOperations } from "../store/Store.ts"
import { withNow } from "../store/withNow.ts"
import { entryLifetimeMs, markPending } from "./pendingRecords.ts"
import { RelaySignals } from "./RelaySignals.ts"
import { readMonotonicMillis } from "./readMonotonicMillis.ts"

/** The prefixes of the keys of events in an outbox and in a log, and of webhooks. */
const workPrefixes = ["outbox/", "event/", "webhook/"]

/** The prefix of the index terms of deliveries that can be attempted at once. */
const newDeliveryPrefix = "delivery/new:"

const leavesWork = (changes: ReadonlyArray<Change>): boolean =>
  changes.some(
    (change) =>
      change._tag === "Put" &&
      (workPrefixes.some((prefix) => change.key.startsWith(prefix)) ||
        change.indexTerms.some((term) => term.startsWith(newDeliveryPrefix)))
  )

/** How many partitions a process remembers to have marked. */
const maxMarked = 10_000

export const makeOutboxStore = (
  store: StoreOperations,
  signals: Pick<RelaySignals["Service"], "add">,
  readMillis = readMonotonicMillis
): StoreOperations => {
  const markedAt = new BoundedMap<Partition, number>(maxMarked)
  const lock = makeKeyedLocks()

  const isMarked = (partition: Partition): boolean =>
    readMillis() < (markedAt.get(partition) ?? Number.NEGATIVE_INFINITY) + entryLifetimeMs

  const ensureMarked = (partition: Partition) =>
    Effect.suspend(() => {
      if (isMarked(partition)) return Effect.void
      const startedAt = readMillis()
      return Effect.tap(
        markPending(store, partition),
        Effect.sync(() => markedAt.set(partition, startedAt))
      )
    })

  const { now } = store.commit
  return {
    ...store,
    commit: withNow<Commit>(
      (partition, changes, idempotency) => {
        if (!leavesWork(changes)) return store.commit(partition, changes, idempotency)
        const commit = Effect.ensuring(
          store.commit(partition, changes, idempotency),
          // Also after a failure: if the reply was lost, the work may be there.
          Effect.sync(() => signals.add(partition))
        )
        return isMarked(partition) ? commit : Effect.andThen(lock(partition, ensureMarked(partition)), commit)
      },
      now && ((partition, changes, clock) => (leavesWork(changes) ? undefined : now(partition, changes, clock)))
    )
  }
}

export const outboxStoreLayer: Layer.Layer<Store, never, Store | RelaySignals> = Layer.effect(
  Store,
  Effect.gen(function* () {
    return makeOutboxStore(yield* Store, yield* RelaySignals)
  })
)
