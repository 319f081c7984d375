/**
 * The simplest implementation of the contract: one list of records, copied on every commit and searched linearly. It is
 * too slow for production. The contract compares real stores with it.
 */
import {
  type Change,
  type CommitResult,
  type IdempotencyRecord,
  type Partition,
  Store,
  StoreConflict,
  type StoreOperations,
  type StoreRecord
} from "@tollgate/core/store"
import { Effect } from "effect"

interface State {
  readonly sequence: number
  /** In creation order. */
  readonly records: ReadonlyArray<StoreRecord>
  readonly counters: ReadonlyMap<string, number>
  /** Rate limits as leaky buckets: the microseconds after `time` in which the bucket runs empty. */
  readonly buckets: ReadonlyMap<string, { readonly time: number; readonly level: number }>
  readonly replays: ReadonlyMap<string, CommitResult>
}

const emptyState: State = {
  sequence: 0,
  records: [],
  counters: new Map(),
  buckets: new Map(),
  replays: new Map()
}

const find = (state: State, key: string) => state.records.find((record) => record.key === key)
const findByTerms = (state: State, terms: ReadonlyArray<string>) =>
  state.records.filter((record) => terms.every((term) => record.indexTerms.includes(term)))

const makeConflict = (reason: StoreConflict["reason"], subject: string) => new StoreConflict({ reason, subject })

const setCounter = (state: State, name: string, value: number): State => ({
  ...state,
  counters: new Map([...state.counters, [name, value]])
})

const getCounter = (state: State, name: string): number => state.counters.get(name) ?? 0

const getLevel = (state: State, name: string, now: number): number => {
  const { time, level } = state.buckets.get(name) ?? { time: now, level: 0 }
  return Math.max(0, level - (now - time))
}

/** The value of a counter; for a rate limit, the time at which it is full again. */
const readCounter = (state: State, name: string): number => {
  const bucket = state.buckets.get(name)
  return bucket === undefined ? getCounter(state, name) : bucket.time + bucket.level
}

/** Applies a change without checking its preconditions. */
const applyChange = (state: State, change: Change, now: number): State => {
  switch (change._tag) {
    case "Put": {
      const { _tag, expect: _, ...rest } = change
      const sequence = state.sequence + 1
      const record = structuredClone({ ...rest, version: sequence })
      const records =
        find(state, change.key) === undefined
          ? [...state.records, record]
          : state.records.map((other) => (other.key === change.key ? record : other))
      return { ...state, sequence, records }
    }
    case "Delete":
      return { ...state, records: state.records.filter(({ key }) => key !== change.key) }
    case "Add":
      return setCounter(state, change.counter, Math.max(0, getCounter(state, change.counter) + change.by))
    case "Raise":
      return setCounter(state, change.counter, Math.max(change.to, getCounter(state, change.counter)))
    case "Take": {
      const level = getLevel(state, change.counter, now) + change.cost * change.interval
      return { ...state, buckets: new Map([...state.buckets, [change.counter, { time: now, level }]]) }
    }
    default:
      return state
  }
}

const findConflict = (
  before: State,
  after: State,
  changes: ReadonlyArray<Change>,
  now: number
): StoreConflict | undefined => {
  for (const change of changes) {
    if (change._tag === "AtMost") {
      if (findByTerms(before, [change.term]).length > change.atMost)
        return makeConflict("too-many-records", change.term)
    } else if (change._tag === "Add") {
      const value = getCounter(before, change.counter) + change.by
      if (change.by > 0 && value > (change.max ?? Number.MAX_SAFE_INTEGER)) {
        return makeConflict("counter-exceeded", change.counter)
      }
    } else if (change._tag === "Take") {
      const { counter, cost, interval, burst } = change
      const retryAfter = getLevel(before, counter, now) + cost * interval - burst * interval
      if (retryAfter > 0) return new StoreConflict({ reason: "rate-limited", subject: counter, retryAfter })
    } else if (change._tag !== "Raise") {
      if ((find(before, change.key)?.version ?? 0) !== change.expect) return makeConflict("stale", change.key)
      if (change._tag !== "Put") continue
      const previousPuts = changes
        .slice(0, changes.indexOf(change))
        .flatMap((other) => (other._tag === "Put" ? [other.key] : []))
      for (const uniqueKey of change.uniqueKeys) {
        const owner = after.records.find(
          ({ key, uniqueKeys, version }) =>
            key !== change.key &&
            uniqueKeys.includes(uniqueKey) &&
            (version <= before.sequence || previousPuts.includes(key))
        )
        if (owner !== undefined) return makeConflict("unique-key", uniqueKey)
      }
    }
  }
  return undefined
}

const commit = (
  state: State,
  changes: ReadonlyArray<Change>,
  idempotency: IdempotencyRecord | undefined,
  now: number
): [State, CommitResult] | StoreConflict => {
  const replay = idempotency === undefined ? undefined : state.replays.get(idempotency.id)
  if (replay !== undefined) return [state, replay]
  let after = state
  const versions = new Map<string, number>()
  const totals = new Map<string, number>()
  for (const change of changes) {
    after = applyChange(after, change, now)
    if (change._tag === "Put") versions.set(change.key, after.sequence)
    else if (change._tag === "Take") totals.set(change.counter, getLevel(after, change.counter, now))
    else if ("counter" in change) totals.set(change.counter, getCounter(after, change.counter))
  }
  const conflict = findConflict(state, after, changes, now)
  if (conflict !== undefined) return conflict
  if (idempotency === undefined) return [after, { versions, totals }]
  const replayed = { fingerprint: idempotency.fingerprint, result: idempotency.result }
  return [
    { ...after, replays: new Map([...after.replays, [idempotency.id, { versions, totals, replayed }]]) },
    { versions, totals }
  ]
}

export const make = (): StoreOperations => {
  const states = new Map<Partition.Partition, State>()
  const read = (partition: Partition.Partition) => states.get(partition) ?? emptyState
  return Store.make({
    get: (partition, keys) => Effect.sync(() => structuredClone(keys.map((key) => find(read(partition), key)))),
    getByUniqueKey: (partition, uniqueKeys) =>
      Effect.sync(() =>
        uniqueKeys.map((uniqueKey) => {
          const record = read(partition).records.find((record) => record.uniqueKeys.includes(uniqueKey))
          const parent = record?.parent === undefined ? undefined : find(read(partition), record.parent)
          return record === undefined ? undefined : parent === undefined ? { record } : { record, parent }
        })
      ),
    list: (partition, queries) =>
      Effect.sync(() =>
        queries.map(({ indexTerms: terms, offset, limit, descending }) => {
          const oldestFirst = findByTerms(read(partition), terms)
          const matches = descending ? oldestFirst.toReversed() : oldestFirst
          return { records: matches.slice(offset, offset + limit), total: matches.length }
        })
      ),
    counters: (partition, names) => Effect.sync(() => names.map((name) => readCounter(read(partition), name))),
    commit: (partition, changes, idempotency) =>
      Effect.clockWith((clock) => {
        const now = Number(clock.monotonicTimeNanosUnsafe() / 1_000n)
        const result = commit(read(partition), changes, idempotency, now)
        if (result instanceof StoreConflict) return Effect.fail(result)
        states.set(partition, result[0])
        return Effect.succeed(result[1])
      }),
    clear: (partition) =>
      Effect.sync(() => {
        states.set(partition, { ...emptyState, sequence: read(partition).sequence })
      })
  })
}
