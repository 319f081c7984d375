/**
 * The state of a store as a caller sees it: its records, and its events, wherever the relay has moved them.
 */
import type { Partition, StoreOperations, StoreRecord } from "@tollgate/store"
import type { Snapshot, StoreState } from "@tollgate/store-testkit"
import { Effect } from "effect"

export interface StoredEvent {
  readonly id: string
  readonly type: string
  readonly subject: { readonly id: string }
}

export interface VisibleState {
  /** Everything that the relay does not change, as text. */
  readonly records: string
  readonly events: ReadonlyMap<string, StoredEvent>
}

const isOutboxName = (name: string): boolean => name === "outbox" || name.startsWith("outbox/")
/** The log of an account, its bytes, which a process writes at most once a second, or the directory of background work. */
const isWrittenLater = (partition: string): boolean =>
  partition.startsWith("events/") || partition.startsWith("accounts/") || partition === "jobs"
/** Also the registrations of hooks. */
const isOfRelay = (partition: string): boolean => partition === "events" || isWrittenLater(partition)

const parseEvent = ({ body }: StoreRecord): StoredEvent => JSON.parse(body.slice(body.indexOf(" ")))

const findEvents = (snapshot: Snapshot, isIn: (key: string) => boolean): ReadonlyArray<StoredEvent> =>
  Object.values(snapshot).flatMap(({ records }) => records.filter(({ key }) => isIn(key)).map(parseEvent))

const describeRecords = (snapshot: Snapshot): string =>
  JSON.stringify(
    Object.entries(snapshot).flatMap(([partition, { records, terms, ...rest }]) => {
      if (isOfRelay(partition)) return []
      const kept = records.filter(({ key }) => !isOutboxName(key))
      const keptTerms = Object.entries(terms).filter(([term]) => !isOutboxName(term))
      return [[partition, kept, keptTerms, rest]]
    })
  )

export const readVisibleState = ({ snapshot }: StoreState["Service"]): Promise<VisibleState> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const earlier = yield* snapshot
      // An event is removed from its outbox after it is in the log. The logs are read last, so that none is missed.
      const later = yield* snapshot
      const events = [...findEvents(earlier, isOutboxName), ...findEvents(later, (key) => key.startsWith("event/"))]
      return { records: describeRecords(earlier), events: new Map(events.map((event) => [event.id, event])) }
    })
  )

/** The types of the events that were recorded between two states, sorted. */
export const getNewEventTypes = (before: VisibleState, after: VisibleState): ReadonlyArray<string> =>
  [...after.events.values()]
    .filter(({ id }) => !before.events.has(id))
    .map(({ type }) => type)
    .sort()

/** Uses `healthy` for the calls of the relay and of the bytes of accounts, so that they are neither counted nor fail, and `store` for all others. */
export const exemptRelay = (store: StoreOperations, healthy: StoreOperations): StoreOperations => {
  const choose = (partition: Partition.Partition, isMove = false): StoreOperations =>
    isMove || isWrittenLater(partition) ? healthy : store
  return {
    get: (partition, ...rest) => choose(partition).get(partition, ...rest),
    getByUniqueKey: (partition, ...rest) => choose(partition).getByUniqueKey(partition, ...rest),
    list: (partition, queries) => {
      const isMove = queries.every(({ indexTerms }) => indexTerms.includes("outbox"))
      return choose(partition, isMove).list(partition, queries)
    },
    search: (partition, ...rest) => choose(partition).search(partition, ...rest),
    counters: (partition, ...rest) => choose(partition).counters(partition, ...rest),
    commit: (partition, changes, idempotency) => {
      const isMove = changes.every((change) => change._tag === "Delete" && isOutboxName(change.key))
      return choose(partition, isMove).commit(partition, changes, idempotency)
    },
    clear: (partition) => choose(partition).clear(partition)
  }
}
