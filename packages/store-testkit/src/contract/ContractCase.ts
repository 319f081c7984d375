/**
 * One test case of the store contract: its group, its name and the program that checks it. Cases are data, so they run
 * under any test runner, and the contract itself can be tested.
 */
import { randomUUID } from "node:crypto"
import {
  Change,
  type CommitResult,
  type IdempotencyRecord,
  Partition,
  type SearchMatch,
  type SearchQuery,
  Store,
  StoreConflict,
  StoreContents,
  type StoreContentsOperations,
  type StoreEntry,
  type StoreOperations,
  type StorePage,
  type StoreQuery,
  type StoreRecord
} from "@tollgate/store"
import { Effect, Stream } from "effect"

/** What a case of the contract is about. */
export type ContractGroup =
  | "records"
  | "unique keys"
  | "listing"
  | "searching"
  | "commits"
  | "parents"
  | "counters"
  | "rate limits"
  | "idempotency"
  | "concurrency"
  | "clear"
  | "misuse"
  | "contents"
  | "scale"
  | "model"

/** One test of the store contract. */
export interface ContractCase {
  readonly group: ContractGroup
  readonly name: string
  /** Fails or dies if the store violates the contract. */
  readonly run: Effect.Effect<void, unknown, Store | StoreContents>
}

type PageOptions = Partial<Omit<StoreQuery, "indexTerms">>

/** A store and a partition that no other case uses. */
export interface StoreFixture {
  readonly partition: Partition.Partition
  readonly get: (key: string) => Effect.Effect<StoreRecord | undefined, unknown>
  /** Lists the keys of a page, in order, and the total. */
  readonly list: (
    terms: ReadonlyArray<string>,
    page?: PageOptions
  ) => Effect.Effect<{ readonly keys: ReadonlyArray<string>; readonly total: number }, unknown>
  /** Lists a page as the store returns it. */
  readonly getPage: (terms: ReadonlyArray<string>, page?: PageOptions) => Effect.Effect<StorePage, unknown>
  /** Finds the search terms that begin with a prefix. */
  readonly search: (
    prefix: string,
    options?: Partial<Omit<SearchQuery, "prefix">>
  ) => Effect.Effect<ReadonlyArray<SearchMatch>, unknown>
  /** Finds the key of the record that has a unique key. */
  readonly findOwner: (uniqueKey: string) => Effect.Effect<string | undefined, unknown>
  readonly counter: (name: string) => Effect.Effect<number, unknown>
  readonly commit: (
    changes: ReadonlyArray<Change>,
    idempotency?: IdempotencyRecord
  ) => ReturnType<StoreOperations["commit"]>
  /** Commits and returns the conflict. Fails if the commit succeeds. */
  readonly getConflict: (
    changes: ReadonlyArray<Change>,
    idempotency?: IdempotencyRecord
  ) => Effect.Effect<{ readonly reason: string; readonly name: string }, unknown>
  readonly store: StoreOperations
  readonly contents: StoreContentsOperations
  /** Reads all entries of the partition. */
  readonly readEntries: Effect.Effect<ReadonlyArray<StoreEntry>, unknown>
  /** Copies all entries into a new partition, and returns a fixture for it. */
  readonly copy: Effect.Effect<StoreFixture, unknown>
  /** A fixture for another store and the same partition. */
  readonly withStore: (store: StoreOperations) => StoreFixture
}

const listPage = (
  store: StoreOperations,
  partition: Partition.Partition,
  terms: ReadonlyArray<string>,
  page: PageOptions | undefined
): Effect.Effect<StorePage, unknown> =>
  Effect.map(
    store.list(partition, [{ indexTerms: terms, offset: 0, limit: 1000, ...page }]),
    ([page]) => page ?? { records: [], total: -1 }
  )

const fixtureOver = (
  store: StoreOperations,
  contents: StoreContentsOperations,
  partition: Partition.Partition
): StoreFixture => ({
  getPage: (terms, page) => listPage(store, partition, terms, page),
  store,
  contents,
  partition,
  withStore: (store) => fixtureOver(store, contents, partition),
  readEntries: Effect.map(Stream.runCollect(contents.read(partition)), (batches) => batches.flat()),
  copy: Effect.suspend(() => {
    const copy = makePartition()
    return Effect.as(
      Stream.runForEach(contents.read(partition), (batch) => contents.write(copy, batch)),
      fixtureOver(store, contents, copy)
    )
  }),
  get: (key) => Effect.map(store.get(partition, [key]), ([record]) => record),
  list: (terms, page) =>
    Effect.map(listPage(store, partition, terms, page), ({ records, total }) => ({
      keys: records.map(({ key }) => key),
      total
    })),
  search: (prefix, options) =>
    Effect.map(store.search(partition, [{ prefix, limit: 1_000, ...options }]), ([matches = []]) => matches),
  findOwner: (uniqueKey) => Effect.map(store.getByUniqueKey(partition, [uniqueKey]), ([owner]) => owner?.record.key),
  counter: (name) => Effect.map(store.counters(partition, [name]), ([value]) => value ?? -1),
  commit: (changes, idempotency) => store.commit(partition, changes, idempotency),
  getConflict: (changes, idempotency) =>
    Effect.flip(store.commit(partition, changes, idempotency)).pipe(
      Effect.map((error) =>
        error instanceof StoreConflict
          ? { reason: error.reason, name: error.subject }
          : { reason: error._tag, name: error.message }
      )
    )
})

const makePartition = () => Partition.forKeyBucket("contract", randomUUID())

export const makeFixture: Effect.Effect<StoreFixture, never, Store | StoreContents> = Effect.gen(function* () {
  return fixtureOver(yield* Store, yield* StoreContents, makePartition())
})

/** Makes the cases of one group. */
export const cases = (
  group: ContractGroup,
  programs: Record<string, (fixture: StoreFixture) => Generator<Effect.Effect<unknown, unknown>, void, never>>
): ReadonlyArray<ContractCase> =>
  Object.entries(programs).map(([name, run]) => ({
    group,
    name,
    run: Effect.flatMap(makeFixture, (fixture) => Effect.gen(() => run(fixture)))
  }))

type Fields<Tag extends Change["_tag"]> = Partial<Omit<Extract<Change, { readonly _tag: Tag }>, "_tag" | "key">>

/** The versions of the records that a commit put, in the order of its changes. */
export const getVersions = ({ versions }: CommitResult): ReadonlyArray<number> => [...versions.values()]

/** The result of a commit without puts and adds. */
export const emptyResult = (): CommitResult => ({ versions: new Map(), totals: new Map() })

/** A `Put` of a new record, unless `expect` says otherwise. */
export const put = (key: string, fields: Fields<"Put"> = {}): Change =>
  Change.Put({ key, expect: 0, body: `body of ${key}`, indexTerms: [], uniqueKeys: [], ...fields })

export const add = (counter: string, by: number, max?: number): Change =>
  Change.Add({ counter, by, ttl: 600_000, ...(max === undefined ? {} : { max }) })

export const raise = (counter: string, to: number): Change => Change.Raise({ counter, to, ttl: 600_000 })

export const checkCounter = (counter: string, expect: number): Change => Change.CheckCounter({ counter, expect })

export const makeIdempotency = (id: string, fields: Partial<IdempotencyRecord> = {}): IdempotencyRecord => ({
  id,
  fingerprint: `fingerprint of ${id}`,
  result: `result of ${id}`,
  ttl: 600_000,
  ...fields
})
