/**
 * The operations on metering buckets. A bucket lives in a partition of its own; the directory only lists it. A removal
 * that was cut off between the two is completed in the background, by any process.
 */
import { Clock, Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { KeyVault } from "../keys/KeyVault.ts"
import * as Id from "../shared/Id.ts"
import { commitOnce, type Idempotency, type OnceError } from "../shared/Idempotency.ts"
import { LimitReached, Limits } from "../shared/Limits.ts"
import type { AccountName } from "../shared/Names.ts"
import type { Page, PageRequest } from "../shared/Page.ts"
import { spanned } from "../shared/spanned.ts"
import { checkVersion, type VersionMismatch } from "../shared/VersionMismatch.ts"
import * as Collection from "../store/Collection.ts"
import * as Contention from "../store/Contention.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { mayBeApplied, type StoreFault } from "../store/StoreError.ts"
import { Bucket, BucketId, BucketNotFound } from "./Bucket.ts"
import { findBucket, rootOf, rootRecords, rootVersionIn } from "./bucketRecords.ts"

const Listed = Schema.Struct({ bucket: Bucket, deleting: Schema.Boolean })

const deleting = "deleting"
const ofAccount = (accountName: string): string => `account:${accountName}`

/** The directory: all buckets, by account, and those whose removal has begun. */
const directory = Collection.make({
  name: "listing",
  format: 1,
  schema: Listed,
  key: ({ bucket }) => bucket.id,
  terms: (listed) => [ofAccount(listed.bucket.accountName), ...(listed.deleting ? [deleting] : [])]
})

/** How often a process looks for removals that were cut off, and how many it looks at. */
const sweepInterval = "5 minutes"
const sweepSize = 100

const make = Effect.gen(function* () {
  const store = yield* Store
  const vault = yield* KeyVault
  const { meteringBucketsPerAccount } = yield* Limits
  const withStore = Effect.provideService(Store, store)
  const listingsOnce = commitOnce(store, vault, Bucket)

  /** Finishes a removal that has been recorded: the root first, so that the bucket is gone before its parts are. */
  const finish = (id: BucketId) =>
    Contention.retryWhenStale(
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
  const isGone = (id: BucketId) =>
    rootOf(id).pipe(
      Effect.map(Option.isNone),
      Effect.catchCause(() => Effect.succeed(true))
    )

  const list = (
    accountName: AccountName | "*",
    { limit, offset }: PageRequest
  ): Effect.Effect<Page<Bucket>, StoreFault, Store> =>
    Effect.gen(function* () {
      const ofAccounts = accountName === "*" ? [] : [ofAccount(accountName)]
      const [page, begun] = yield* directory.pages(Partition.meteringDirectory, [
        { where: ofAccounts, offset, limit },
        { where: [...ofAccounts, deleting], offset: 0, limit: sweepSize }
      ])
      const gone = new Set(
        yield* Effect.filter(
          (begun?.entries ?? []).map(({ value }) => value.bucket.id),
          isGone
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
      Effect.catchCause(finish(bucket.id), () =>
        Effect.logWarning(`The removal of metering bucket ${bucket.id} is not finished. It will be tried again.`)
      )
    )
  })

  yield* sweep.pipe(
    Effect.catchCause((cause) => Effect.logDebug("Looking for interrupted removals failed", cause)),
    Effect.andThen(Effect.sleep(sweepInterval)),
    Effect.forever,
    Effect.provideService(Clock.Clock, Contention.machineClock),
    withStore,
    Effect.forkScoped({ startImmediately: true })
  )

  /** A bucket that was made before, with the version that it has now. */
  const asItIs = (bucket: Bucket) =>
    Effect.map(rootOf(bucket.id), (root) => ({ value: bucket, version: Option.isSome(root) ? root.value.version : 0 }))

  /** A bucket whose removal has begun and was cut off. */
  const halfGone = Effect.fnUntraced(function* (bucketId: string) {
    const listed = yield* directory.get(Partition.meteringDirectory, bucketId)
    return Option.isSome(listed) && listed.value.value.deleting
      ? listed.value.value.bucket
      : yield* new BucketNotFound({ bucketId: String(bucketId) })
  })

  return Buckets.of({
    list: (accountName, page) => list(accountName, page).pipe(withStore, spanned("Buckets.list")),

    create: Effect.fnUntraced(
      function* (accountName, { idempotency } = {}) {
        const earlier = yield* listingsOnce.recall(Partition.meteringDirectory, idempotency)
        if (earlier !== undefined) return yield* asItIs(earlier)
        const now = yield* DateTime.now
        const id = BucketId.make(yield* Id.next("bckt"))
        const bucket: Bucket = { id, createdOn: now, updatedOn: now, accountName }
        const partition = Partition.metering(id)
        const made = yield* store.commit(partition, [rootRecords.insert(bucket)])
        const listing = [
          directory.insert({ bucket, deleting: false }),
          directory.atMost(ofAccount(accountName), meteringBucketsPerAccount - 1)
        ]
        const committed = yield* listingsOnce.commit(Partition.meteringDirectory, listing, idempotency, bucket).pipe(
          // What is certainly not listed is to be nobody's.
          Effect.tapError((error) => (mayBeApplied(error) ? Effect.void : Effect.ignore(store.clear(partition)))),
          Effect.mapError((error) =>
            error._tag === "StoreConflict" && error.reason === "limit"
              ? new LimitReached({ limit: "meteringBucketsPerAccount", max: meteringBucketsPerAccount })
              : error
          )
        )
        if (committed.earlier === undefined) return { value: bucket, version: rootVersionIn(made) }
        yield* store.clear(partition)
        return yield* asItIs(committed.earlier)
      },
      withStore,
      spanned("Buckets.create")
    ),

    get: (bucketId) => findBucket(bucketId).pipe(withStore, spanned("Buckets.get")),

    owner: Effect.fnUntraced(
      function* (bucketId) {
        const bucket = yield* findBucket(bucketId).pipe(
          Effect.map(({ value }) => value),
          Effect.catchTag("BucketNotFound", () => halfGone(bucketId))
        )
        return bucket.accountName
      },
      withStore,
      spanned("Buckets.owner")
    ),

    remove: Effect.fnUntraced(
      function* (bucketId, { ifMatch } = {}) {
        const begin = Effect.gen(function* () {
          const root = yield* findBucket(bucketId)
          yield* checkVersion(root, ifMatch)
          const listed = yield* directory.get(Partition.meteringDirectory, bucketId)
          const intent = { bucket: root.value, deleting: true }
          yield* store.commit(Partition.meteringDirectory, [
            Option.isSome(listed) ? directory.replace(listed.value, intent) : directory.insert(intent)
          ])
          return root.value
        })
        const { id } = yield* Contention.retryWhenStale(begin).pipe(
          Effect.catchTag("BucketNotFound", () => halfGone(bucketId))
        )
        yield* finish(id)
      },
      withStore,
      spanned("Buckets.remove")
    )
  })
})

export class Buckets extends Context.Service<
  Buckets,
  {
    /** A page of an account's buckets, or of everybody's, oldest first. */
    readonly list: (accountName: AccountName | "*", page: PageRequest) => Effect.Effect<Page<Bucket>, StoreFault>
    readonly create: (
      accountName: AccountName,
      options?: { readonly idempotency?: Idempotency }
    ) => Effect.Effect<Collection.Entry<Bucket>, StoreFault | OnceError | LimitReached>
    readonly get: (bucketId: string) => Effect.Effect<Collection.Entry<Bucket>, StoreFault | BucketNotFound>
    /** Whose bucket it is, also while its removal is not finished. */
    readonly owner: (bucketId: string) => Effect.Effect<AccountName, StoreFault | BucketNotFound>
    /** Removes a bucket and everything in it; again, where that was cut off. */
    readonly remove: (
      bucketId: string,
      conditions?: { readonly ifMatch?: ReadonlyArray<number> }
    ) => Effect.Effect<void, StoreFault | BucketNotFound | VersionMismatch>
  }
>()("@tollgate/core/metering/Buckets") {
  static readonly layer = Layer.effect(Buckets, make)
}
