/**
 * The interface of a store adapter: seven operations on opaque records in partitions.
 *
 * A store knows nothing about consumers, keys or plans. It holds counters and records. A record has a body, **index
 * terms** for listing, **search terms** that are found by their beginnings, **unique keys** for lookup, and optionally a
 * **parent** record. All writes go through `commit`,
 * which takes data instead of a callback, so that an adapter can run it as one SQLite transaction, one call of a
 * PostgreSQL function, one Redis script or one synchronous function.
 */
import { type Clock, Data, type Effect, type Exit } from "effect"
import type { Partition } from "./Partition.ts"
import type { StoreConflict, StoreUnavailable } from "./StoreError.ts"

/** A record as the store keeps it. The store does not look into its body. */
export interface StoreRecord {
  readonly key: string
  /**
   * The partition's sequence number at the record's last write. Numbers are never reused, so a record that was deleted
   * and created again has a different version.
   */
  readonly version: number
  readonly body: string
  readonly indexTerms: ReadonlyArray<string>
  readonly uniqueKeys: ReadonlyArray<string>
  /** Absent if it has none. */
  readonly searchTerms?: ReadonlyArray<string>
  readonly parent?: string
}

/** A record found by a unique key, and its parent if that exists. */
export interface RecordWithParent {
  readonly record: StoreRecord
  readonly parent?: StoreRecord
}

/** Selects the records that have **all** the index terms. At least one term is required. */
export interface StoreQuery {
  readonly indexTerms: ReadonlyArray<string>
  readonly offset: number
  /** Maximum records of the page, which may have fewer: see `maxPageBytes`. */
  readonly limit: number
  /** Newest first instead of oldest first. `offset` then counts from the newest record. */
  readonly descending?: boolean | undefined
  /**
   * Begins after this place, the `next` of an earlier page in the same order. `offset` counts from there. Records that
   * are created, updated or deleted in between neither move nor hide the others.
   */
  readonly after?: number | undefined
}

/** One page of records in order of creation, oldest first unless `descending`, and the total of matching records. */
export interface StorePage {
  readonly records: ReadonlyArray<StoreRecord>
  /** The number of all records that match, whatever `offset` and `after` are. */
  readonly total: number
  /**
   * The place of the page's last record, if more records match after it. A record keeps its place, and a later record has
   * a higher one, which no earlier record ever had.
   */
  readonly next?: number | undefined
}

/** Selects the search terms that begin with a prefix, in the order of their code points. */
export interface SearchQuery {
  readonly prefix: string
  /** Maximum matches. A record that has several of the terms matches with each. */
  readonly limit: number
  /** Begins after this term, which has the prefix. */
  readonly after?: string | undefined
}

/** A record that has a search term with the prefix. */
export interface SearchMatch {
  readonly term: string
  /** The key of the record. */
  readonly key: string
  /** The key of its parent, which may not exist. */
  readonly parent?: string
  /** The place of the record in every list: a record that was created later has a higher one. */
  readonly place: number
}

/**
 * A change or a precondition of a commit. Preconditions (`expect`, `atMost`, `max`, `burst`) are checked, in the order of
 * the changes, against the state before the commit. A commit contains at most one `Put`, `Delete` or `Check` for each
 * key, and at most one `Add`, `Raise` or `Take` for each counter, beside any number of `CheckCounter`. `expect: 0` means
 * that the record must not exist.
 */
export type Change = Data.TaggedEnum<{
  Put: {
    readonly key: string
    readonly expect: number
    readonly body: string
    readonly indexTerms: ReadonlyArray<string>
    readonly uniqueKeys: ReadonlyArray<string>
    /** 1 to 64, of 1 to 256 UTF-16 code units without U+0000, or left out. */
    readonly searchTerms?: ReadonlyArray<string>
    readonly parent?: string
  }
  Delete: { readonly key: string; readonly expect: number }
  /** Changes nothing: fails the commit unless the record is at the expected version. */
  Check: { readonly key: string; readonly expect: number }
  /** Changes nothing: fails the commit if more than `atMost` records have the index term. */
  AtMost: { readonly term: string; readonly atMost: number }
  /**
   * Adds an integer other than 0 to a counter. A positive amount fails the commit if the counter would exceed `max`. A
   * negative amount, which gives back what was reserved, never fails: the counter stops at 0. A counter that a negative
   * amount brings to 0 is removed with its expiry, so that it takes no space; `Raise` and `Take` never remove one. The
   * store keeps any other counter for at least `ttl` more milliseconds and may delete it after that, here and in `Raise`
   * and `Take`.
   */
  Add: { readonly counter: string; readonly by: number; readonly max?: number; readonly ttl: number }
  /** Sets a counter to `to`, unless it is already higher. */
  Raise: { readonly counter: string; readonly to: number; readonly ttl: number }
  /**
   * Takes `cost` from a rate limit, which allows `burst` at once and one more every `interval` microseconds. Fails the
   * commit if less than `cost` is available. All takes of a counter have the same `interval` and `burst`, and a `ttl` in
   * which the limit becomes full again. `gcra.ts` defines the algorithm and what the counter holds.
   */
  Take: {
    readonly counter: string
    readonly cost: number
    readonly interval: number
    readonly burst: number
    readonly ttl: number
  }
  /**
   * Changes nothing: fails the commit unless the counter has exactly this value before the commit, 0 if it does not exist
   * or has expired. The counter of a rate limit has the value that `counters` returns.
   */
  CheckCounter: { readonly counter: string; readonly expect: number }
}>

export const Change = Data.taggedEnum<Change>()

export type Take = Extract<Change, { readonly _tag: "Take" }>
/** A change of one counter. */
export type CounterChange = Extract<Change, { readonly _tag: "Add" | "Raise" | "Take" }>

/** Whether a change writes a counter, and does not only check one. */
export const isCounterChange = (change: Change): change is CounterChange =>
  "counter" in change && change._tag !== "CheckCounter"

/**
 * Makes a commit idempotent: within `ttl` milliseconds, a commit with the same `id` changes nothing and returns the
 * stored `result`. The store writes this record atomically with the changes, so a rejected commit leaves no record.
 */
export interface IdempotencyRecord {
  readonly id: string
  /** Lets the caller tell a retry from a different request with the same id. */
  readonly fingerprint: string
  readonly result: string
  readonly ttl: number
}

/** What a commit changed. */
export interface CommitResult {
  /** The new version of each record that the commit wrote, by key. */
  readonly versions: ReadonlyMap<string, number>
  /**
   * The new value of each counter that the commit changed, by name. For a `Take`, the microseconds until its rate limit
   * is full again.
   */
  readonly totals: ReadonlyMap<string, number>
  /** Set when an earlier commit with the same idempotency id was applied. */
  readonly replayed?: { readonly fingerprint: string; readonly result: string }
}

/** What a store says about itself, for telemetry. */
export interface StoreDescription {
  /** The name of the database system in the semantic conventions of OpenTelemetry: `sqlite`, `redis`, `postgresql`. */
  readonly system: string
  /** Whether the disk of the store has less free space than its reserve. Large writes are then refused. */
  readonly isDiskLow?: (() => boolean) | undefined
  /** How many operations wait for their batch. */
  readonly countQueued?: (() => number) | undefined
  /** How many attempts were repeated after a transient error since the store was opened. */
  readonly countRetries?: (() => number) | undefined
}

type Matches = ReadonlyArray<RecordWithParent | undefined>

/** `now` is optional: it does the same at once, without a fiber. It returns nothing if the store must wait. */
export interface GetByUniqueKey {
  (partition: Partition, uniqueKeys: ReadonlyArray<string>): Effect.Effect<Matches, StoreUnavailable>
  readonly now?: (
    partition: Partition,
    uniqueKeys: ReadonlyArray<string>
  ) => Exit.Exit<Matches, StoreUnavailable> | undefined
}

/**
 * `now` is optional: it does the same at once, without a fiber. It returns nothing if the store must wait. Its arguments
 * are not checked, because that would take as long as the commit: Tollgate calls it only with changes that it has made.
 */
export interface Commit {
  (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency?: IdempotencyRecord
  ): Effect.Effect<CommitResult, StoreConflict | StoreUnavailable>
  readonly now?: (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    clock: Clock.Clock
  ) => Exit.Exit<CommitResult, StoreConflict | StoreUnavailable> | undefined
}

/** The operations that an adapter implements and passes to `Store.make`. */
export interface StoreOperations {
  readonly description?: StoreDescription | undefined

  /** The records with these keys, in the order of the keys. */
  get(
    partition: Partition,
    keys: ReadonlyArray<string>
  ): Effect.Effect<ReadonlyArray<StoreRecord | undefined>, StoreUnavailable>

  /** The records with these unique keys, each with its parent, in one round trip. */
  readonly getByUniqueKey: GetByUniqueKey

  /** One page for each query, in one round trip. */
  list(
    partition: Partition,
    queries: ReadonlyArray<StoreQuery>
  ): Effect.Effect<ReadonlyArray<StorePage>, StoreUnavailable>

  /**
   * The matches of each query in one round trip, sorted by term, those of one term newest first. So the records that have
   * the prefix itself as a term come first. Reads no more of the index than it returns.
   */
  search(
    partition: Partition,
    queries: ReadonlyArray<SearchQuery>
  ): Effect.Effect<ReadonlyArray<ReadonlyArray<SearchMatch>>, StoreUnavailable>

  /** The values of these counters; 0 for a counter that does not exist. */
  counters(partition: Partition, names: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<number>, StoreUnavailable>

  /** Applies all changes atomically, or none. */
  readonly commit: Commit

  /**
   * Removes everything in the partition. Not atomic: call it again if it fails. The partition's sequence number is
   * kept, so that versions are never reused.
   */
  clear(partition: Partition): Effect.Effect<void, StoreUnavailable>
}
