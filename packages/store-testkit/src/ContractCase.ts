/**
 * One promise of the store contract: what it concerns, the sentence that states it, and the program that tries it.
 * Cases are data, so that they run under any test runner, and so that the suite itself can be tested.
 */
import { randomUUID } from "node:crypto"
import {
  Change,
  type CommitResult,
  type IdempotencyRecord,
  Partition,
  Store,
  StoreConflict,
  type StoreOperations,
  type StoreRecord
} from "@tollgate/core"
import { Effect } from "effect"

export type Concern =
  | "records"
  | "claims"
  | "listing"
  | "commits"
  | "parents"
  | "counters"
  | "once"
  | "concurrency"
  | "clear"
  | "misuse"
  | "scale"
  | "model"

export interface ContractCase {
  readonly concern: Concern
  readonly name: string
  /** Fails or dies if the store breaks the promise. */
  readonly run: Effect.Effect<void, unknown, Store>
}

/** A store bound to a partition of its own, so that cases never meet. */
export interface StoreFixture {
  readonly partition: Partition.Partition
  readonly get: (key: string) => Effect.Effect<StoreRecord | undefined, unknown>
  /** The keys of a page, in order, with the total. */
  readonly list: (
    terms: ReadonlyArray<string>,
    page?: { readonly offset?: number; readonly limit?: number }
  ) => Effect.Effect<{ readonly keys: ReadonlyArray<string>; readonly total: number }, unknown>
  /** The key of the record that holds a claim. */
  readonly holder: (claim: string) => Effect.Effect<string | undefined, unknown>
  readonly counter: (name: string) => Effect.Effect<number, unknown>
  readonly commit: (changes: ReadonlyArray<Change>, once?: IdempotencyRecord) => ReturnType<StoreOperations["commit"]>
  /** Why a commit was refused; dies if it was not. */
  readonly refusal: (
    changes: ReadonlyArray<Change>,
    once?: IdempotencyRecord
  ) => Effect.Effect<{ readonly reason: string; readonly name: string }, unknown>
  readonly store: StoreOperations
  /** The same bench over another store. */
  readonly over: (store: StoreOperations) => StoreFixture
}

const fixtureOver = (store: StoreOperations, partition: Partition.Partition): StoreFixture => ({
  store,
  partition,
  over: (store) => fixtureOver(store, partition),
  get: (key) => Effect.map(store.get(partition, [key]), ([record]) => record),
  list: (terms, { offset = 0, limit = 1000 } = {}) =>
    Effect.map(store.list(partition, [{ indexTerms: terms, offset, limit }]), ([page]) => ({
      keys: (page?.records ?? []).map(({ key }) => key),
      total: page?.total ?? -1
    })),
  holder: (claim) => Effect.map(store.getByUniqueKey(partition, [claim]), ([claimed]) => claimed?.record.key),
  counter: (name) => Effect.map(store.counters(partition, [name]), ([value]) => value ?? -1),
  commit: (changes, once) => store.commit(partition, changes, once),
  refusal: (changes, once) =>
    Effect.flip(store.commit(partition, changes, once)).pipe(
      Effect.map((error) =>
        error instanceof StoreConflict
          ? { reason: error.reason, name: error.subject }
          : { reason: error._tag, name: error.message }
      )
    )
})

export const makeFixture: Effect.Effect<StoreFixture, never, Store> = Effect.map(Store, (store) =>
  fixtureOver(store, Partition.keys("contract", randomUUID()))
)

/** Collects the cases of one concern. */
export const cases = (
  concern: Concern,
  promises: Record<string, (bench: StoreFixture) => Generator<Effect.Effect<unknown, unknown>, void, never>>
): ReadonlyArray<ContractCase> =>
  Object.entries(promises).map(([name, run]) => ({
    concern,
    name,
    run: Effect.flatMap(makeFixture, (bench) => Effect.gen(() => run(bench)))
  }))

type Fields<Tag extends Change["_tag"]> = Partial<Omit<Extract<Change, { readonly _tag: Tag }>, "_tag" | "key">>

/** The versions of the records that a commit put, in the order in which it put them. */
export const inOrder = ({ versions }: CommitResult): ReadonlyArray<number> => [...versions.values()]

/** What a commit answers that puts nothing and counts nothing. */
export const emptyResult = (): CommitResult => ({ versions: new Map(), totals: new Map() })

/** A `Put` of a new record, unless `expect` says otherwise. */
export const put = (key: string, fields: Fields<"Put"> = {}): Change =>
  Change.Put({ key, expect: 0, body: `body of ${key}`, indexTerms: [], uniqueKeys: [], ...fields })

export const add = (counter: string, by: number, max?: number): Change =>
  Change.Add({ counter, by, ttl: 600_000, ...(max === undefined ? {} : { max }) })

export const once = (id: string, fields: Partial<IdempotencyRecord> = {}): IdempotencyRecord => ({
  id,
  fingerprint: `fingerprint of ${id}`,
  result: `answer of ${id}`,
  ttl: 600_000,
  ...fields
})
