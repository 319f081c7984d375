/**
 * The simplest implementation of the contract: one list of records, copied on every commit and searched linearly. It is
 * too slow for production. The contract compares real stores with it.
 */
import {
  type Change,
  type CommitResult,
  type CounterChange,
  type IdempotencyRecord,
  isCounterChange,
  type Partition,
  type ReplayEntry,
  type SearchMatch,
  type SearchQuery,
  Store,
  StoreConflict,
  StoreContents,
  StoreEntry,
  type StoreRecord,
  type StoreWithContents,
  streamBatches,
  takeBatch,
  takePage,
  toReplayedResult
} from "@tollgate/store"
import { Effect, Stream } from "effect"

interface State {
  readonly sequence: number
  /** In creation order. */
  readonly records: ReadonlyArray<StoreRecord>
  /** The sequence number at which each record was created, by key. */
  readonly places: ReadonlyMap<string, number>
  readonly counters: ReadonlyMap<string, number>
  /** Rate limits as leaky buckets: the microseconds after `time` in which the bucket runs empty. */
  readonly buckets: ReadonlyMap<string, { readonly time: number; readonly level: number }>
  /** When each counter and rate limit expires. The model reports it, and keeps rate limits forever. */
  readonly expiries: ReadonlyMap<string, number>
  readonly replays: ReadonlyMap<string, ReplayEntry>
}

const emptyState: State = {
  sequence: 0,
  records: [],
  places: new Map(),
  counters: new Map(),
  buckets: new Map(),
  expiries: new Map(),
  replays: new Map()
}

const find = (state: State, key: string) => state.records.find((record) => record.key === key)
const findByTerms = (state: State, terms: ReadonlyArray<string>) =>
  state.records.filter((record) => terms.every((term) => record.indexTerms.includes(term)))

/** All matches, in the order of the bytes of their terms. */
const findBySearch = (state: State, { prefix, limit, after }: SearchQuery): ReadonlyArray<SearchMatch> =>
  state.records
    .flatMap(({ key, parent, searchTerms = [] }) =>
      searchTerms.map((term) => ({
        term,
        key,
        ...(parent === undefined ? {} : { parent }),
        place: state.places.get(key) ?? 0
      }))
    )
    .filter(({ term }) => term.startsWith(prefix) && (after === undefined || compareBytes(term, after) > 0))
    .sort((left, right) => compareBytes(left.term, right.term) || right.place - left.place)
    .slice(0, limit)

const compareBytes = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right))

const makeConflict = (reason: StoreConflict["reason"], subject: string) => new StoreConflict({ reason, subject })

const without = <A>(map: ReadonlyMap<string, A>, name: string): ReadonlyMap<string, A> =>
  new Map([...map].filter(([other]) => other !== name))

const setCounter = (state: State, name: string, value: number): State => ({
  ...state,
  counters: new Map([...state.counters, [name, value]]),
  buckets: without(state.buckets, name)
})

const removeCounter = (state: State, name: string): State => ({
  ...state,
  counters: without(state.counters, name),
  buckets: without(state.buckets, name),
  expiries: without(state.expiries, name)
})

const getCounter = (state: State, name: string): number => state.counters.get(name) ?? 0

const removeExpired = (state: State, wall: number): State =>
  [...state.counters.keys()].filter((name) => (state.expiries.get(name) ?? wall) <= wall).reduce(removeCounter, state)

const getLevel = (state: State, name: string, now: number): number => {
  const { time, level } = state.buckets.get(name) ?? { time: now, level: 0 }
  return Math.max(0, level - (now - time))
}

/** The value of a counter; for a rate limit, the time at which it is full again. */
const readCounter = (state: State, name: string): number => {
  const bucket = state.buckets.get(name)
  return bucket === undefined ? getCounter(state, name) : bucket.time + bucket.level
}

/** The times of a commit: of the monotonic clock in microseconds, and of the wall clock in milliseconds. */
interface Times {
  readonly now: number
  readonly wall: number
}

/** Extends the expiry of a counter that was changed, or removes the counter if a negative add has brought it to 0. */
const extendOrRemove = (state: State, change: CounterChange, wall: number): State => {
  if (change._tag === "Add" && change.by < 0 && getCounter(state, change.counter) === 0) {
    return removeCounter(state, change.counter)
  }
  const expiry = Math.max(state.expiries.get(change.counter) ?? 0, wall + change.ttl)
  return { ...state, expiries: new Map([...state.expiries, [change.counter, expiry]]) }
}

/** Applies a change without checking its preconditions. */
const applyChange = (state: State, change: Change, now: number): State => {
  switch (change._tag) {
    case "Put": {
      const { _tag, expect: _, ...rest } = change
      const sequence = state.sequence + 1
      const record = structuredClone({ ...rest, version: sequence })
      if (find(state, change.key) === undefined) {
        const places = new Map([...state.places, [change.key, sequence]])
        return { ...state, sequence, records: [...state.records, record], places }
      }
      return { ...state, sequence, records: state.records.map((other) => (other.key === change.key ? record : other)) }
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
    } else if (change._tag === "CheckCounter") {
      if (readCounter(before, change.counter) !== change.expect) return makeConflict("stale", change.counter)
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
  { now, wall }: Times
): [State, CommitResult] | StoreConflict => {
  const replay = idempotency === undefined ? undefined : state.replays.get(idempotency.id)
  if (replay !== undefined) return [state, toReplayedResult(replay)]
  let after = state
  const versions = new Map<string, number>()
  const totals = new Map<string, number>()
  for (const change of changes) {
    after = applyChange(after, change, now)
    if (isCounterChange(change)) after = extendOrRemove(after, change, wall)
    if (change._tag === "Put") versions.set(change.key, after.sequence)
    else if (change._tag === "Take") totals.set(change.counter, getLevel(after, change.counter, now))
    else if (isCounterChange(change)) totals.set(change.counter, getCounter(after, change.counter))
  }
  const conflict = findConflict(state, after, changes, now)
  if (conflict !== undefined) return conflict
  if (idempotency === undefined) return [after, { versions, totals }]
  const { ttl, ...identity } = idempotency
  const stored = { ...identity, versions: [...versions], totals: [...totals], expiresAt: wall + ttl }
  return [
    { ...after, replays: new Map([...after.replays, [idempotency.id, StoreEntry.Replay(stored)]]) },
    { versions, totals }
  ]
}

const readEntries = (state: State): ReadonlyArray<StoreEntry> => [
  ...(state.sequence === 0 ? [] : [StoreEntry.Sequence({ value: state.sequence })]),
  ...state.records.map((record) => StoreEntry.Record({ record })),
  ...[...state.expiries].map(([name, expiresAt]) =>
    StoreEntry.Counter({ name, value: readCounter(state, name), expiresAt })
  ),
  ...state.replays.values()
]

const writeEntry = (state: State, entry: StoreEntry, wall: number): State => {
  switch (entry._tag) {
    case "Sequence":
      return { ...state, sequence: Math.max(state.sequence, entry.value) }
    case "Record":
      if (find(state, entry.record.key) !== undefined) return state
      return {
        ...state,
        records: [...state.records, entry.record],
        places: new Map([...state.places, [entry.record.key, state.records.length + 1]])
      }
    case "Counter": {
      if (entry.expiresAt <= wall) return state
      // A bucket that runs empty at the value of the counter, in case it is a rate limit.
      const bucket = { time: entry.value, level: 0 }
      return {
        ...state,
        counters: new Map([...state.counters, [entry.name, entry.value]]),
        buckets: new Map([...state.buckets, [entry.name, bucket]]),
        expiries: new Map([...state.expiries, [entry.name, entry.expiresAt]])
      }
    }
    case "Replay":
      return entry.expiresAt <= wall ? state : { ...state, replays: new Map([...state.replays, [entry.id, entry]]) }
  }
}

export const make = (): StoreWithContents => {
  const states = new Map<Partition.Partition, State>()
  const read = (partition: Partition.Partition) => states.get(partition) ?? emptyState
  const contents = StoreContents.make({
    partitions: Stream.suspend(() => Stream.fromIterable(states.keys())),
    read: (partition) =>
      Stream.suspend(() => {
        const entries = structuredClone(readEntries(read(partition))).values()
        return streamBatches(Effect.sync(() => takeBatch(entries)))
      }),
    write: (partition, entries) =>
      Effect.clockWith((clock) => {
        const wall = clock.currentTimeMillisUnsafe()
        const state = structuredClone(entries).reduce((state, entry) => writeEntry(state, entry, wall), read(partition))
        states.set(partition, state)
        return Effect.void
      })
  })
  const operations = Store.make({
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
        queries.map(({ indexTerms: terms, offset, limit, descending, after }) => {
          const state = read(partition)
          const getPlace = ({ key }: StoreRecord) => state.places.get(key) ?? 0
          const oldestFirst = findByTerms(state, terms)
          const matches = descending ? oldestFirst.toReversed() : oldestFirst
          const rest = matches
            .filter(
              (record) => after === undefined || (descending ? getPlace(record) < after : getPlace(record) > after)
            )
            .slice(offset)
          const records = takePage(rest, limit)
          const last = records.at(-1)
          const page = { records, total: matches.length }
          return last === undefined || rest.length <= records.length ? page : { ...page, next: getPlace(last) }
        })
      ),
    search: (partition, queries) => Effect.sync(() => queries.map((query) => findBySearch(read(partition), query))),
    counters: (partition, names) =>
      Effect.clockWith((clock) => {
        const state = removeExpired(read(partition), clock.currentTimeMillisUnsafe())
        return Effect.succeed(names.map((name) => readCounter(state, name)))
      }),
    commit: (partition, changes, idempotency) =>
      Effect.clockWith((clock) => {
        const times = { now: Number(clock.monotonicTimeNanosUnsafe() / 1_000n), wall: clock.currentTimeMillisUnsafe() }
        const result = commit(removeExpired(read(partition), times.wall), changes, idempotency, times)
        if (result instanceof StoreConflict) return Effect.fail(result)
        states.set(partition, result[0])
        return Effect.succeed(result[1])
      }),
    clear: (partition) =>
      Effect.sync(() => {
        states.set(partition, { ...emptyState, sequence: read(partition).sequence })
      })
  })
  return { ...operations, contents }
}
