/**
 * The operations on metering buckets. A bucket lives in a partition of its own; the directory only lists it. A removal
 * that was cut off between the two is completed in the background, by any process.
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
import { type Idempotency, type IdempotencyError, idempotentCommit } from "../store/Idempotency.ts"
import * as Partition from "../store/Partition.ts"
import { liveClock, retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import { isOutcomeUnknown, type StoreError } from "../store/StoreError.ts"
import { MeteringBucket, MeteringBucketId, MeteringBucketNotFound } from "./MeteringBucket.ts"
import { findMeteringBucket, rootOf, rootRecords, rootVersionIn } from "./meteringBucketRecords.ts"

const DirectoryEntry = Schema.Struct({ bucket: MeteringBucket, deleting: Schema.Boolean })

const deleting = "deleting"
const ofAccount = (accountName: string): string => `account:${accountName}`

/** The directory: all buckets, by account, and those whose removal has begun. */
const directory = Collection.make({
  name: "listing",
  format: 1,
  schema: DirectoryEntry,
  key: ({ bucket }) => bucket.id,
  indexTerms: (listed) => [ofAccount(listed.bucket.accountName), ...(listed.deleting ? [deleting] : [])]
})

/** How often a process looks for removals that were cut off, and how many it looks at. */
const sweepInterval = "5 minutes"
const sweepSize = 100

const make = Effect.gen(function* () {
  const store = yield* Store
  const vault = yield* SecretBox
  const { meteringBucketsPerAccount } = yield* Limits
  const withStore = Effect.provideService(Store, store)
  const listingsOnce = idempotentCommit(store, vault, MeteringBucket)

  /** Finishes a removal that has been recorded: the root first, so that the bucket is gone before its parts are. */
  const completeRemoval = (id: MeteringBucketId) =>
    retryOnConflict(
      Effect.gen(function* () {
        const partition = Partition.metering(id)
        const root = yield* rootOf(id)
        if (Option.isSome(root)) yield* store.commit(partition, [rootRecords.remove(root.value)])
        yield* store.clear(partition)
        const listed = yield* directory.get(Partition.meteringDirectory, id)
        if (Option.isSome(listed)) yield* store.commit(Partition.meteringDirectory, [directory.remove(listed.value)])
      })
    )

  /** Whether a bucket that is being removed is out of reach already. A partition that does not answer says nothing. */
  const isOutOfReach = (id: MeteringBucketId) =>
    rootOf(id).pipe(
      Effect.map(Option.isNone),
      Effect.catchCause(() => Effect.succeed(true))
    )

  const list = (
    accountName: AccountName | "*",
    { limit, offset }: PageRequest
  ): Effect.Effect<Page<MeteringBucket>, StoreError, Store> =>
    Effect.gen(function* () {
      const ofAccounts = accountName === "*" ? [] : [ofAccount(accountName)]
      const [page, pendingRemovals] = yield* directory.pages(Partition.meteringDirectory, [
        { where: ofAccounts, offset, limit },
        { where: [...ofAccounts, deleting], offset: 0, limit: sweepSize }
      ])
      const gone = new Set(
        yield* Effect.filter(
          (pendingRemovals?.entries ?? []).map(({ value }) => value.bucket.id),
          isOutOfReach
        )
      )
      const data = (page?.entries ?? []).flatMap(({ value }) => (gone.has(value.bucket.id) ? [] : [value.bucket]))
      return { data, limit, offset, total: (page?.total ?? 0) - gone.size }
    })

  /** Completes removals that were cut off. One that fails stops no other, and is tried again. */
  const sweep = Effect.gen(function* () {
    const where = [deleting]
    const { entries } = yield* directory.page(Partition.meteringDirectory, { where, offset: 0, limit: sweepSize })
    yield* Effect.forEach(entries, ({ value: { bucket } }) =>
      Effect.catchCause(completeRemoval(bucket.id), () =>
        Effect.logWarning(`The removal of metering bucket ${bucket.id} is not finished. It will be tried again.`)
      )
    )
  })

  yield* sweep.pipe(
    Effect.catchCause((cause) => Effect.logDebug("Looking for interrupted removals failed", cause)),
    Effect.andThen(Effect.sleep(sweepInterval)),
    Effect.forever,
    Effect.provideService(Clock.Clock, liveClock),
    withStore,
    Effect.forkScoped({ startImmediately: true })
  )

  /** A bucket that was made before, with the version that it has now. */
  const withCurrentVersion = (bucket: MeteringBucket) =>
    Effect.map(rootOf(bucket.id), (root) => ({ value: bucket, version: Option.isSome(root) ? root.value.version : 0 }))

  /** A bucket whose removal has begun and was cut off. */
  const findPendingRemoval = Effect.fnUntraced(function* (bucketId: string) {
    const listed = yield* directory.get(Partition.meteringDirectory, bucketId)
    return Option.isSome(listed) && listed.value.value.deleting
      ? listed.value.value.bucket
      : yield* new MeteringBucketNotFound({ bucketId: String(bucketId) })
  })

  return MeteringBuckets.of({
    list: (accountName, page) => list(accountName, page).pipe(withStore, withSafeSpan("Buckets.list")),

    create: Effect.fnUntraced(
      function* (accountName, { idempotency } = {}) {
        const earlier = yield* listingsOnce.recall(Partition.meteringDirectory, idempotency)
        if (earlier !== undefined) return yield* withCurrentVersion(earlier)
        const now = yield* DateTime.now
        const id = MeteringBucketId.make(yield* Id.next("bckt"))
        const bucket: MeteringBucket = { id, createdOn: now, updatedOn: now, accountName }
        const partition = Partition.metering(id)
        const made = yield* store.commit(partition, [rootRecords.insert(bucket)])
        const listing = [
          directory.insert({ bucket, deleting: false }),
          directory.assertAtMost(ofAccount(accountName), meteringBucketsPerAccount - 1)
        ]
        const committed = yield* listingsOnce.commit(Partition.meteringDirectory, listing, idempotency, bucket).pipe(
          // What is certainly not listed is to be nobody's.
          Effect.tapError((error) => (isOutcomeUnknown(error) ? Effect.void : Effect.ignore(store.clear(partition)))),
          Effect.mapError((error) =>
            error._tag === "StoreConflict" && error.reason === "limit"
              ? new LimitReached({ limit: "meteringBucketsPerAccount", max: meteringBucketsPerAccount })
              : error
          )
        )
        if (committed.previousResult === undefined) return { value: bucket, version: rootVersionIn(made) }
        yield* store.clear(partition)
        return yield* withCurrentVersion(committed.previousResult)
      },
      withStore,
      withSafeSpan("Buckets.create")
    ),

    get: (bucketId) => findMeteringBucket(bucketId).pipe(withStore, withSafeSpan("Buckets.get")),

    owner: Effect.fnUntraced(
      function* (bucketId) {
        const bucket = yield* findMeteringBucket(bucketId).pipe(
          Effect.map(({ value }) => value),
          Effect.catchTag("MeteringBucketNotFound", () => findPendingRemoval(bucketId))
        )
        return bucket.accountName
      },
      withStore,
      withSafeSpan("Buckets.owner")
    ),

    remove: Effect.fnUntraced(
      function* (bucketId, { ifMatch } = {}) {
        const markForRemoval = Effect.gen(function* () {
          const root = yield* findMeteringBucket(bucketId)
          yield* checkVersion(root, ifMatch)
          const listed = yield* directory.get(Partition.meteringDirectory, bucketId)
          const intent = { bucket: root.value, deleting: true }
          yield* store.commit(Partition.meteringDirectory, [
            Option.isSome(listed) ? directory.replace(listed.value, intent) : directory.insert(intent)
          ])
          return root.value
        })
        const { id } = yield* retryOnConflict(markForRemoval).pipe(
          Effect.catchTag("MeteringBucketNotFound", () => findPendingRemoval(bucketId))
        )
        yield* completeRemoval(id)
      },
      withStore,
      withSafeSpan("Buckets.remove")
    )
  })
})

export class MeteringBuckets extends Context.Service<
  MeteringBuckets,
  {
    /** A page of an account's buckets, or of everybody's, oldest first. */
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
    /** Whose bucket it is, also while its removal is not finished. */
    readonly owner: (bucketId: string) => Effect.Effect<AccountName, StoreError | MeteringBucketNotFound>
    /** Removes a bucket and everything in it; again, where that was cut off. */
    readonly remove: (
      bucketId: string,
      conditions?: { readonly ifMatch?: ReadonlyArray<number> | undefined }
    ) => Effect.Effect<void, StoreError | MeteringBucketNotFound | VersionMismatch>
  }
>()("@tollgate/core/metering/MeteringBuckets") {
  static readonly layer = Layer.effect(MeteringBuckets, make)
}
