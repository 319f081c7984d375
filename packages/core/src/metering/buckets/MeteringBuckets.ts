/**
 * Operations on metering buckets. Each bucket has a separate partition, and a directory lists all buckets. Removing a
 * bucket takes several commits; a job completes a removal that was interrupted.
 */

import {
  type AccountName,
  BoundedMap,
  checkVersion,
  Ids,
  invalidBody,
  isOutcomeUnknown,
  type Page,
  type PageRequest,
  Partition,
  retryOnConflict,
  SecretBox,
  Store,
  StoreConflict,
  type StoreError,
  toPage
} from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { Accounts } from "../../accounts/Accounts.ts"
import { limitReached } from "../../accounts/limits/LimitReached.ts"
import { Limits } from "../../accounts/limits/Limits.ts"
import { implementOperations } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import { DueWork } from "../../jobs/DueWork.ts"
import { EventRetention } from "../../outbox/EventRetention.ts"
import { positionRecords } from "../../outbox/eventRecords.ts"
import { moveEvents } from "../../relay/moveEvents.ts"
import { getGroupsPartition } from "../groups/groupRecords.ts"
import { type MeteringBucket, MeteringBucketId, type MeteringBucketName } from "../model/MeteringBucket.ts"
import { MeteringBucketNameTaken, MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { findMeteringBucket, getBucketEntry, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { byAccount, directoryRecords, pendingRemovalTerm, withName } from "../model/meteringDirectoryRecords.ts"
import { recordBucketEvent } from "../model/meteringEvents.ts"
import { MeteringBucketsApi, type MeteringBucketsMethods } from "./MeteringBucketsApi.ts"

/** Removals that may have been interrupted. */
const removalsJob = { name: "removals" }
/** When a removal is looked at, in case that it was interrupted. */
const removalTimeout = { seconds: 5 }
/** How many pending removals `list` hides from a page. */
const maxPendingRemovals = 100
/** The version of a bucket's entry, which is the first record of its partition and never changes. */
const firstVersion = 1
/** How many accounts of buckets a process remembers. */
const maxCachedAccountNames = 10_000

const make = Effect.gen(function* () {
  const store = yield* Store
  const accounts = yield* Accounts
  const secretBox = yield* SecretBox
  const { meteringBucketsPerAccount } = yield* Limits
  const dueWork = yield* DueWork
  const withStore = Effect.provideService(Store, store)
  const withRetention = Effect.provideService(EventRetention, yield* EventRetention)

  /** Removes what the log of the account remembers of the bucket's outbox. */
  const forgetPosition = Effect.fnUntraced(function* (accountName: AccountName, partition: Partition.Partition) {
    const events = Partition.forEvents(accountName)
    const position = yield* positionRecords.get(events, partition)
    if (Option.isSome(position)) yield* store.commit(events, [positionRecords.remove(position.value)])
  })

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
        // Its last events, before they are cleared too.
        yield* withRetention(moveEvents(partition))
        yield* store.clear(partition)
        yield* store.clear(getGroupsPartition(id))
        const entry = yield* directoryRecords.get(Partition.meteringDirectory, id)
        if (Option.isNone(entry)) return
        yield* forgetPosition(entry.value.value.bucket.accountName, partition)
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
    accountName: AccountName | undefined,
    name: MeteringBucketName | undefined,
    request: PageRequest
  ): Effect.Effect<Page<MeteringBucket>, StoreError, Store> =>
    Effect.gen(function* () {
      const accountTerms = [
        ...(accountName === undefined ? [] : [byAccount(accountName)]),
        ...(name === undefined ? [] : [withName(name)])
      ]
      const [page, pendingRemovals] = yield* directoryRecords.pages(Partition.meteringDirectory, [
        { where: accountTerms, ...request },
        { where: [...accountTerms, pendingRemovalTerm], offset: 0, limit: maxPendingRemovals }
      ])
      const removed = new Set(
        yield* Effect.filter(
          (pendingRemovals?.entries ?? []).map(({ value }) => value.bucket.id),
          isBucketEntryRemoved
        )
      )
      const data = (page?.entries ?? []).flatMap(({ value }) => (removed.has(value.bucket.id) ? [] : [value.bucket]))
      return toPage(request, { ...page, total: (page?.total ?? 0) - removed.size }, data)
    })

  const completeIfPending = Effect.fnUntraced(function* (id: string) {
    const entry = yield* directoryRecords.get(Partition.meteringDirectory, id)
    if (Option.isSome(entry) && entry.value.value.deleting) yield* completeRemoval(entry.value.value.bucket.id)
    return undefined
  })
  yield* dueWork.register({
    ...removalsJob,
    run: (partition) => withStore(completeIfPending(Partition.getBucketId(partition)))
  })

  /** Finds a bucket whose removal has started but is not complete. */
  const findPendingRemoval = Effect.fnUntraced(function* (bucketId: string) {
    const entry = yield* directoryRecords.get(Partition.meteringDirectory, bucketId)
    return Option.isSome(entry) && entry.value.value.deleting
      ? entry.value.value.bucket
      : yield* new MeteringBucketNotFound({ bucketId: String(bucketId) })
  })

  const operations = implementOperations(MeteringBucketsApi, { store, secretBox })({
    list: ({ query: { accountName, name, ...page } }) => list(accountName, name, page),

    create: Effect.fnUntraced(function* ({ payload: { accountName, ...fields } }, once) {
      if (accountName === undefined) {
        return yield* invalidBody("/accountName", "is required, because this credential is for all accounts")
      }
      const toNewEntry = (value: MeteringBucket) => ({ value, version: firstVersion })
      const commitOnce = once(Partition.meteringDirectory, toNewEntry)
      yield* accounts.ensureListed(accountName)
      const now = yield* DateTime.now
      const id = MeteringBucketId.make(yield* Ids.generate("bckt"))
      const bucket: MeteringBucket = { id, createdOn: now, updatedOn: now, accountName, ...fields }
      const partition = Partition.forMeteringBucket(id)
      yield* store.commit(partition, [meteringBucketRecords.insert(bucket)])
      const directoryChanges = [
        directoryRecords.insert({ bucket, deleting: false }),
        directoryRecords.assertAtMost(byAccount(accountName), meteringBucketsPerAccount - 1),
        yield* recordBucketEvent("metering_bucket.created", bucket)
      ]
      yield* commitOnce(directoryChanges, bucket).pipe(
        // If the bucket is certainly not in the directory, remove its partition: nothing else would.
        Effect.tapError((error) => (isOutcomeUnknown(error) ? Effect.void : Effect.ignore(store.clear(partition)))),
        Effect.mapError((error) => {
          if (!(error instanceof StoreConflict)) return error
          if (error.reason === "unique-key")
            return new MeteringBucketNameTaken({ meteringBucketName: fields.name ?? "" })
          return error.reason === "too-many-records"
            ? limitReached("meteringBucketsPerAccount", meteringBucketsPerAccount)
            : error
        })
      )
      return toNewEntry(bucket)
    }),

    get: ({ params: { bucketId } }) => findMeteringBucket(bucketId),

    remove: Effect.fnUntraced(function* ({ params: { bucketId }, headers: { ifMatch } = {} }) {
      const markForRemoval = Effect.gen(function* () {
        const bucketEntry = yield* findMeteringBucket(bucketId)
        yield* checkVersion(bucketEntry, ifMatch)
        const entry = yield* directoryRecords.get(Partition.meteringDirectory, bucketId)
        // An earlier call was interrupted.
        if (Option.isSome(entry) && entry.value.value.deleting) return bucketEntry.value
        const markedEntry = { bucket: bucketEntry.value, deleting: true }
        const { accountName } = bucketEntry.value
        const dueOn = DateTime.addDuration(yield* DateTime.now, removalTimeout)
        yield* dueWork.ensure(removalsJob, Partition.forMeteringBucket(bucketId), Effect.succeed(accountName), dueOn)
        yield* store.commit(Partition.meteringDirectory, [
          Option.isSome(entry)
            ? directoryRecords.replace(entry.value, markedEntry)
            : directoryRecords.insert(markedEntry),
          yield* recordBucketEvent("metering_bucket.deleted", bucketEntry.value)
        ])
        return bucketEntry.value
      })
      const { id } = yield* retryOnConflict(markForRemoval).pipe(
        Effect.catchTag("MeteringBucketNotFound", () => findPendingRemoval(bucketId))
      )
      yield* completeRemoval(id)
    })
  })

  /** The accounts of buckets that were looked up. The account of a bucket never changes. */
  const accountNames = new BoundedMap<string, AccountName>(maxCachedAccountNames)

  const readAccountName = Effect.fnUntraced(function* (bucketId: string) {
    const { accountName } = yield* findMeteringBucket(bucketId).pipe(
      Effect.map(({ value }) => value),
      Effect.catchTag("MeteringBucketNotFound", () => findPendingRemoval(bucketId))
    )
    accountNames.set(bucketId, accountName)
    return accountName
  }, withStore)

  const getAccountName = (bucketId: string) => {
    const cached = accountNames.get(bucketId)
    return cached === undefined ? readAccountName(bucketId) : Effect.succeed(cached)
  }

  return MeteringBuckets.of({ ...operations, getAccountName })
})

/** The operations on metering buckets: `list`, `create`, `get` and `remove`. Each takes one `OperationRequest`. */
export class MeteringBuckets extends Context.Service<
  MeteringBuckets,
  Operations<typeof MeteringBucketsApi, MeteringBucketsMethods> & {
    /** The account of a bucket, also while its removal is pending. Cached: the account of a bucket never changes. */
    readonly getAccountName: (bucketId: string) => Effect.Effect<AccountName, StoreError | MeteringBucketNotFound>
  }
>()("@tollgate/core/metering/MeteringBuckets") {
  static readonly layer = Layer.effect(MeteringBuckets, make)
}
