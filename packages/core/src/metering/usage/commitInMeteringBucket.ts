/**
 * Takes from rate limits that are counted in a metering bucket, for a request that counts no meters. The commit checks that
 * the bucket exists, so a process can remember it.
 */

import {
  BoundedMap,
  type Change,
  type CommitResult,
  type HotPath,
  isStale,
  Partition,
  retryOnConflict,
  Store,
  type StoreConflict,
  type StoreError,
  type StoreOperations
} from "@tollgate/store/internal"
import { Effect } from "effect"
import { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"

/** How many metering buckets a process remembers. */
const maxRemembered = 10_000

interface KnownBucket {
  readonly accountName: string
  readonly partition: Partition.Partition
  /** Makes a commit fail if the bucket has changed. */
  readonly isUnchanged: Change
}

type CommitError = StoreError | StoreConflict | MeteringBucketNotFound

/** Commits once for each idempotency key. Its further errors end the operation. */
type CommitChanges<E> = (changes: ReadonlyArray<Change>) => Effect.Effect<CommitResult, StoreError | E>

/** Commits changes in a metering bucket of an account. Fails with a `StoreConflict` if one of them is refused. */
export type CommitInMeteringBucket = <E = never>(
  accountName: string,
  bucketId: string,
  changes: ReadonlyArray<Change>,
  hotPath: HotPath,
  commitOnce?: CommitChanges<E>
) => Effect.Effect<CommitResult, CommitError | E>

export const makeCommitInMeteringBucket = (store: StoreOperations): CommitInMeteringBucket => {
  const buckets = new BoundedMap<string, KnownBucket>(maxRemembered)
  return <E = never>(
    accountName: string,
    bucketId: string,
    changes: ReadonlyArray<Change>,
    hotPath: HotPath,
    commitOnce?: CommitChanges<E>
  ): Effect.Effect<CommitResult, CommitError | E> => {
    const commit = ({ partition, isUnchanged }: KnownBucket): Effect.Effect<CommitResult, StoreError | E> => {
      const allChanges = [isUnchanged, ...changes]
      return commitOnce === undefined ? hotPath.store.commit(partition, allChanges) : commitOnce(allChanges)
    }
    const readAndCommit = retryOnConflict(
      Effect.gen(function* () {
        const entry = yield* findMeteringBucket(bucketId)
        if (entry.value.accountName !== accountName) return yield* new MeteringBucketNotFound({ bucketId })
        const partition = Partition.forMeteringBucket(bucketId)
        const bucket = { accountName, partition, isUnchanged: meteringBucketRecords.assertUnchanged(entry) }
        buckets.set(bucketId, bucket)
        return yield* commit(bucket)
      })
    ).pipe(Effect.provideService(Store, store))
    const known = buckets.get(bucketId)
    if (known === undefined || known.accountName !== accountName) return readAndCommit
    return Effect.catchEager(
      commit(known),
      (error): Effect.Effect<CommitResult, CommitError | E> => (isStale(error) ? readAndCommit : Effect.fail(error))
    )
  }
}
