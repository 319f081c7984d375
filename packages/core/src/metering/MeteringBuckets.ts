/**
 * Operations on metering buckets. Each bucket has a separate partition, and a directory lists all buckets. Removing a
 * bucket takes several commits; a background job of any process completes a removal that was interrupted.
 */
import { Clock, Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import * as Id from "../crypto/Id.ts"
import { SecretBox } from "../crypto/SecretBox.ts"
import { LimitReached, Limits } from "../runtime/Limits.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import type { AccountName } from "../schema/Names.ts"
import type { Page, PageRequest } from "../schema/Page.ts"
import { checkVersion, type VersionMismatch } from "../schema/VersionMismatch.ts"
import * as Collection from "../store/Collection.ts"
import { type Idempotency, type IdempotencyError, makeIdempotentCommits } from "../store/Idempotency.ts"
import * as Partition from "../store/Partition.ts"
import { liveClock, retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import { isOutcomeUnknown, type StoreError } from "../store/StoreError.ts"
import { MeteringBucket, MeteringBucketId, MeteringBucketNotFound } from "./MeteringBucket.ts"
import {
  findMeteringBucket,
  getBucketEntry,
  getBucketEntryVersion,
  meteringBucketRecords
} from "./meteringBucketRecords.ts"

/** `deleting`, the collection `listing` and the index terms are stored names and cannot change. */
const DirectoryEntry = Schema.Struct({ bucket: MeteringBucket, deleting: Schema.Boolean })

/** The index term of buckets whose removal has started. */
const pendingRemovalTerm = "deleting"
const byAccount = (accountName: string): string => `account:${accountName}`

/** Lists all buckets, indexed by account and by pending removal. */
const directoryRecords = Collection.make({
  name: "listing",
  format: 1,
  schema: DirectoryEntry,
  key: ({ bucket }) => bucket.id,
  indexTerms: (entry) => [byAccount(entry.bucket.accountName), ...(entry.deleting ? [pendingRemovalTerm] : [])]
})

/** How often the background job looks for interrupted removals. */
const sweepInterval = "5 minutes"
/** How many pending removals the background job completes in one run, and how many `list` hides from a page. */
const maxPendingRemovals = 100

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const { meteringBucketsPerAccount } = yield* Limits
  const withStore = Effect.provideService(Store, store)
  const idempotentCreate = makeIdempotentCommits(store, secretBox, MeteringBucket)

  /**
   * Completes a removal that is recorded in the directory. Removes the bucket's entry first, so that no commit to the
   * bucket succeeds.
   */
  const completeRemoval = (id: MeteringBucketId) =>
    retryOnConflict(
      Effect.gen(function* () {
        const partition = Partition.forMeteringBucket(id)
        const bucketEntry = yield* getBucketEntry(id)
        if (Option.isSome(bucketEntry))
          yield* store.commit(partition, [meteringBucketRecords.remove(bucketEntry.value)])
        yield* store.clear(partition)
        const entry = yield* directoryRecords.get(Partition.meteringDirectory, id)
        if (Option.isSome(entry))
          yield* store.commit(Partition.meteringDirectory, [directoryRecords.remove(entry.value)])
      })
    )

  /** Whether the entry of a bucket with a pending removal is removed. If it cannot be read, it counts as removed. */
  const isBucketEntryRemoved = (id: MeteringBucketId) =>
    getBucketEntry(id).pipe(
      Effect.map(Option.isNone),
      Effect.catchCause(() => Effect.succeed(true))
    )

  const list = (
    accountName: AccountName | "*",
    { limit, offset }: PageRequest
  ): Effect.Effect<Page<MeteringBucket>, StoreError, Store> =>
    Effect.gen(function* () {
      const accountTerms = accountName === "*" ? [] : [byAccount(accountName)]
      const [page, pendingRemovals] = yield* directoryRecords.pages(Partition.meteringDirectory, [
        { where: accountTerms, offset, limit },
        { where: [...accountTerms, pendingRemovalTerm], offset: 0, limit: maxPendingRemovals }
      ])
      const removed = new Set(
        yield* Effect.filter(
          (pendingRemovals?.entries ?? []).map(({ value }) => value.bucket.id),
          isBucketEntryRemoved
        )
      )
      const data = (page?.entries ?? []).flatMap(({ value }) => (removed.has(value.bucket.id) ? [] : [value.bucket]))
      return { data, limit, offset, total: (page?.total ?? 0) - removed.size }
    })

  /** Completes interrupted removals. If one fails, the others continue, and the next run retries it. */
  const sweep = Effect.gen(function* () {
    const { entries } = yield* directoryRecords.page(Partition.meteringDirectory, {
      where: [pendingRemovalTerm],
      offset: 0,
      limit: maxPendingRemovals
    })
    yield* Effect.forEach(entries, ({ value: { bucket } }) =>
      Effect.catchCause(completeRemoval(bucket.id), () =>
        Effect.logWarning(`Removing metering bucket ${bucket.id} failed. Tollgate will retry.`)
      )
    )
  })

  yield* sweep.pipe(
    Effect.catchCause((cause) => Effect.logDebug("Scanning for interrupted removals failed", cause)),
    Effect.andThen(Effect.sleep(sweepInterval)),
    Effect.forever,
    Effect.provideService(Clock.Clock, liveClock),
    withStore,
    Effect.forkScoped({ startImmediately: true })
  )

  /** A bucket from a replayed request, with its current version. */
  const withCurrentVersion = (bucket: MeteringBucket) =>
    Effect.map(getBucketEntry(bucket.id), (bucketEntry) => ({
      value: bucket,
      version: Option.isSome(bucketEntry) ? bucketEntry.value.version : 0
    }))

  /** Finds a bucket whose removal has started but is not complete. */
  const findPendingRemoval = Effect.fnUntraced(function* (bucketId: string) {
    const entry = yield* directoryRecords.get(Partition.meteringDirectory, bucketId)
    return Option.isSome(entry) && entry.value.value.deleting
      ? entry.value.value.bucket
      : yield* new MeteringBucketNotFound({ bucketId: String(bucketId) })
  })

  return MeteringBuckets.of({
    list: (accountName, page) => list(accountName, page).pipe(withStore, withSafeSpan("MeteringBuckets.list")),

    create: Effect.fnUntraced(
      function* (accountName, { idempotency } = {}) {
        const previousResult = yield* idempotentCreate.findPreviousResult(Partition.meteringDirectory, idempotency)
        if (previousResult !== undefined) return yield* withCurrentVersion(previousResult)
        const now = yield* DateTime.now
        const id = MeteringBucketId.make(yield* Id.generate("bckt"))
        const bucket: MeteringBucket = { id, createdOn: now, updatedOn: now, accountName }
        const partition = Partition.forMeteringBucket(id)
        const bucketCommit = yield* store.commit(partition, [meteringBucketRecords.insert(bucket)])
        const directoryChanges = [
          directoryRecords.insert({ bucket, deleting: false }),
          directoryRecords.assertAtMost(byAccount(accountName), meteringBucketsPerAccount - 1)
        ]
        const commitResult = yield* idempotentCreate
          .commit(Partition.meteringDirectory, directoryChanges, idempotency, bucket)
          .pipe(
            // If the bucket is certainly not in the directory, remove its partition: nothing else would.
            Effect.tapError((error) => (isOutcomeUnknown(error) ? Effect.void : Effect.ignore(store.clear(partition)))),
            Effect.mapError((error) =>
              error._tag === "StoreConflict" && error.reason === "too-many-records"
                ? new LimitReached({ limit: "meteringBucketsPerAccount", max: meteringBucketsPerAccount })
                : error
            )
          )
        if (commitResult.previousResult === undefined)
          return { value: bucket, version: getBucketEntryVersion(bucketCommit) }
        yield* store.clear(partition)
        return yield* withCurrentVersion(commitResult.previousResult)
      },
      withStore,
      withSafeSpan("MeteringBuckets.create")
    ),

    get: (bucketId) => findMeteringBucket(bucketId).pipe(withStore, withSafeSpan("MeteringBuckets.get")),

    getAccountName: Effect.fnUntraced(
      function* (bucketId) {
        const bucket = yield* findMeteringBucket(bucketId).pipe(
          Effect.map(({ value }) => value),
          Effect.catchTag("MeteringBucketNotFound", () => findPendingRemoval(bucketId))
        )
        return bucket.accountName
      },
      withStore,
      withSafeSpan("MeteringBuckets.owner")
    ),

    remove: Effect.fnUntraced(
      function* (bucketId, { ifMatch } = {}) {
        const markForRemoval = Effect.gen(function* () {
          const bucketEntry = yield* findMeteringBucket(bucketId)
          yield* checkVersion(bucketEntry, ifMatch)
          const entry = yield* directoryRecords.get(Partition.meteringDirectory, bucketId)
          const markedEntry = { bucket: bucketEntry.value, deleting: true }
          yield* store.commit(Partition.meteringDirectory, [
            Option.isSome(entry)
              ? directoryRecords.replace(entry.value, markedEntry)
              : directoryRecords.insert(markedEntry)
          ])
          return bucketEntry.value
        })
        const { id } = yield* retryOnConflict(markForRemoval).pipe(
          Effect.catchTag("MeteringBucketNotFound", () => findPendingRemoval(bucketId))
        )
        yield* completeRemoval(id)
      },
      withStore,
      withSafeSpan("MeteringBuckets.remove")
    )
  })
})

export class MeteringBuckets extends Context.Service<
  MeteringBuckets,
  {
    /** A page of the buckets of one account, or of all accounts (`*`), oldest first. */
    readonly list: (
      accountName: AccountName | "*",
      page: PageRequest
    ) => Effect.Effect<Page<MeteringBucket>, StoreError>
    readonly create: (
      accountName: AccountName,
      options?: { readonly idempotency?: Idempotency | undefined }
    ) => Effect.Effect<Collection.Entry<MeteringBucket>, StoreError | IdempotencyError | LimitReached>
    readonly get: (
      bucketId: string
    ) => Effect.Effect<Collection.Entry<MeteringBucket>, StoreError | MeteringBucketNotFound>
    /** The account of a bucket, also while its removal is pending. */
    readonly getAccountName: (bucketId: string) => Effect.Effect<AccountName, StoreError | MeteringBucketNotFound>
    /** Removes a bucket and everything in it. Call it again to complete an interrupted removal. */
    readonly remove: (
      bucketId: string,
      conditions?: { readonly ifMatch?: ReadonlyArray<number> | undefined }
    ) => Effect.Effect<void, StoreError | MeteringBucketNotFound | VersionMismatch>
  }
>()("@tollgate/core/metering/MeteringBuckets") {
  static readonly layer = Layer.effect(MeteringBuckets, make)
}
