/**
 * Takes from rate limits that are counted in a metering bucket, for a request that counts no meters. The commit checks that
 * the bucket exists, so a process can remember it.
 */
import { Effect } from "effect"
import { BoundedMap } from "../../runtime/BoundedMap.ts"
import type { Entry } from "../../store/Collection.ts"
import type { HotPath } from "../../store/HotPath.ts"
import * as Partition from "../../store/Partition.ts"
import { isStale, retryOnConflict } from "../../store/retryOnConflict.ts"
import { type Change, type CommitResult, Store, type StoreOperations } from "../../store/Store.ts"
import type { StoreConflict, StoreError } from "../../store/StoreError.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"

/** How many metering buckets a process remembers. */
const maxRemembered = 10_000

/** Commits changes in a metering bucket of an account. Fails with a `StoreConflict` if one of them is refused. */
export type CommitInMeteringBucket = (
  accountName: string,
  bucketId: string,
  changes: ReadonlyArray<Change>,
  hotPath: HotPath
) => Effect.Effect<CommitResult, StoreError | StoreConflict | MeteringBucketNotFound>

export const makeCommitInMeteringBucket = (store: StoreOperations): CommitInMeteringBucket => {
  const buckets = new BoundedMap<string, Entry<MeteringBucket>>(maxRemembered)
  return (accountName, bucketId, changes, hotPath) => {
    const commit = (entry: Entry<MeteringBucket>) =>
      hotPath.store.commit(Partition.forMeteringBucket(bucketId), [
        meteringBucketRecords.assertUnchanged(entry),
        ...changes
      ])
    const readAndCommit = retryOnConflict(
      Effect.gen(function* () {
        const entry = yield* findMeteringBucket(bucketId)
        if (entry.value.accountName !== accountName) return yield* new MeteringBucketNotFound({ bucketId })
        buckets.set(bucketId, entry)
        return yield* commit(entry)
      })
    ).pipe(Effect.provideService(Store, store))
    const known = buckets.get(bucketId)
    if (known === undefined || known.value.accountName !== accountName) return readAndCommit
    return Effect.catchEager(
      commit(known),
      (error): ReturnType<CommitInMeteringBucket> => (isStale(error) ? readAndCommit : Effect.fail(error))
    )
  }
}
