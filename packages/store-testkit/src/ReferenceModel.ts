/**
 * The contract in its simplest form: one list of records, copied for every commit, searched from end to end. Too slow
 * to use, and too simple to be wrong, it is what real stores are compared with.
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
} from "@tollgate/core"
import { Effect } from "effect"

interface State {
  readonly sequence: number
  /** In the order of creation. */
  readonly records: ReadonlyArray<StoreRecord>
  readonly counters: ReadonlyMap<string, number>
  readonly once: ReadonlyMap<string, CommitResult>
}

const empty: State = { sequence: 0, records: [], counters: new Map(), once: new Map() }

const find = (state: State, key: string) => state.records.find((record) => record.key === key)
const findByTerms = (state: State, terms: ReadonlyArray<string>) =>
  state.records.filter((record) => terms.every((term) => record.indexTerms.includes(term)))

const conflictOf = (reason: StoreConflict["reason"], name: string) => new StoreConflict({ reason, subject: name })

/** What the state would be, before the claims are looked at. */
const applyChange = (state: State, change: Change): State => {
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
    case "Add": {
      const value = (state.counters.get(change.counter) ?? 0) + change.by
      return { ...state, counters: new Map([...state.counters, [change.counter, value]]) }
    }
    default:
      return state
  }
}

const findConflict = (before: State, after: State, changes: ReadonlyArray<Change>): StoreConflict | undefined => {
  for (const change of changes) {
    if (change._tag === "AtMost") {
      if (findByTerms(before, [change.term]).length > change.atMost) return conflictOf("limit", change.term)
    } else if (change._tag === "Add") {
      const value = (before.counters.get(change.counter) ?? 0) + change.by
      if (value > (change.max ?? Number.MAX_SAFE_INTEGER)) return conflictOf("exceeded", change.counter)
    } else {
      if ((find(before, change.key)?.version ?? 0) !== change.expect) return conflictOf("stale", change.key)
      if (change._tag !== "Put") continue
      const earlier = changes
        .slice(0, changes.indexOf(change))
        .flatMap((other) => (other._tag === "Put" ? [other.key] : []))
      for (const claim of change.uniqueKeys) {
        const rival = after.records.find(
          ({ key, uniqueKeys: claims, version }) =>
            key !== change.key && claims.includes(claim) && (version <= before.sequence || earlier.includes(key))
        )
        if (rival !== undefined) return conflictOf("unique-key", claim)
      }
    }
  }
  return undefined
}

const commit = (
  state: State,
  changes: ReadonlyArray<Change>,
  once: IdempotencyRecord | undefined
): [State, CommitResult] | StoreConflict => {
  const remembered = once === undefined ? undefined : state.once.get(once.id)
  if (remembered !== undefined) return [state, remembered]
  let after = state
  const versions = new Map<string, number>()
  const totals = new Map<string, number>()
  for (const change of changes) {
    after = applyChange(after, change)
    if (change._tag === "Put") versions.set(change.key, after.sequence)
    if (change._tag === "Add") totals.set(change.counter, after.counters.get(change.counter) ?? 0)
  }
  const refusal = findConflict(state, after, changes)
  if (refusal !== undefined) return refusal
  if (once === undefined) return [after, { versions, totals }]
  const replayed = { fingerprint: once.fingerprint, result: once.result }
  return [
    { ...after, once: new Map([...after.once, [once.id, { versions, totals, replayed }]]) },
    { versions, totals }
  ]
}

export const make = (): StoreOperations => {
  const states = new Map<Partition.Partition, State>()
  const read = (partition: Partition.Partition) => states.get(partition) ?? empty
  return Store.make({
    get: (partition, keys) => Effect.sync(() => structuredClone(keys.map((key) => find(read(partition), key)))),
    getByUniqueKey: (partition, claims) =>
      Effect.sync(() =>
        claims.map((claim) => {
          const record = read(partition).records.find((record) => record.uniqueKeys.includes(claim))
          const parent = record?.parent === undefined ? undefined : find(read(partition), record.parent)
          return record === undefined ? undefined : parent === undefined ? { record } : { record, parent }
        })
      ),
    list: (partition, queries) =>
      Effect.sync(() =>
        queries.map(({ indexTerms: terms, offset, limit }) => {
          const found = findByTerms(read(partition), terms)
          return { records: found.slice(offset, offset + limit), total: found.length }
        })
      ),
    counters: (partition, names) => Effect.sync(() => names.map((name) => read(partition).counters.get(name) ?? 0)),
    commit: (partition, changes, once) =>
      Effect.suspend(() => {
        const result = commit(read(partition), changes, once)
        if (result instanceof StoreConflict) return Effect.fail(result)
        states.set(partition, result[0])
        return Effect.succeed(result[1])
      }),
    clear: (partition) =>
      Effect.sync(() => {
        states.set(partition, { ...empty, sequence: read(partition).sequence })
      })
  })
}
