/**
 * A store for the services: a commit that leaves work for the relay, such as an event, is preceded by an entry in
 * the directory of partitions with such work, and followed by a signal to the relay of this process. No operation can
 * forget either.
 */
import { Effect, Layer } from "effect"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { makeKeyedLocks } from "../runtime/keyedLocks.ts"
import { getEventsAccount, type Partition } from "../store/Partition.ts"
import { type Change, type Commit, Store, type StoreOperations } from "../store/Store.ts"
import { withNow } from "../store/withNow.ts"
import { outboxRecords } from "./outboxRecords.ts"
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

/** The account of work in a partition. That of a metering bucket does not name it, but its events do. */
const findAccount = (partition: Partition, changes: ReadonlyArray<Change>): string => {
  const ofLog = getEventsAccount(partition)
  if (ofLog !== undefined) return ofLog
  const event = changes.find((change) => change._tag === "Put" && change.key.startsWith("outbox/"))
  const parsed = event?._tag === "Put" ? outboxRecords.parseUnchecked({ ...event, version: 0 }) : undefined
  return parsed !== undefined && "accountName" in parsed ? parsed.accountName : partition
}

/** An entry in the directory that this process has written. */
interface Mark {
  readonly accountName: string
  readonly at: number
}

/** How many partitions a process remembers to have marked. */
const maxMarked = 10_000

export const makeOutboxStore = (
  store: StoreOperations,
  signals: Pick<RelaySignals["Service"], "add">,
  readMillis = readMonotonicMillis
): StoreOperations => {
  const marks = new BoundedMap<Partition, Mark>(maxMarked)
  const lock = makeKeyedLocks()

  const findMark = (partition: Partition): Mark | undefined => {
    const mark = marks.get(partition)
    return mark !== undefined && readMillis() < mark.at + entryLifetimeMs ? mark : undefined
  }

  const ensureMarked = (partition: Partition, accountName: string) =>
    Effect.suspend(() => {
      if (findMark(partition) !== undefined) return Effect.void
      const at = readMillis()
      return Effect.tap(
        markPending(store, partition, accountName),
        Effect.sync(() => marks.set(partition, { accountName, at }))
      )
    })

  const { now } = store.commit
  return {
    ...store,
    commit: withNow<Commit>(
      (partition, changes, idempotency) => {
        if (!leavesWork(changes)) return store.commit(partition, changes, idempotency)
        const mark = findMark(partition)
        const accountName = mark?.accountName ?? findAccount(partition, changes)
        const commit = Effect.ensuring(
          store.commit(partition, changes, idempotency),
          // Also after a failure: if the reply was lost, the work may be there.
          Effect.sync(() => signals.add(partition, accountName))
        )
        if (mark !== undefined) return commit
        return Effect.andThen(lock(partition, ensureMarked(partition, accountName)), commit)
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
