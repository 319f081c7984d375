import { Effect, Option, Schema } from "effect"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import type { CommitResult } from "../store/Store.ts"
import { MeteringBucket, MeteringBucketId, MeteringBucketNotFound } from "./MeteringBucket.ts"

const rootKey = "root"

/**
 * The root record in a bucket's partition. Every commit to the partition checks it, so no write succeeds after it is removed.
 */
export const meteringBucketRecords = Collection.make({
  name: "bucket",
  format: 1,
  schema: MeteringBucket,
  key: () => rootKey
})

/** The version of a bucket's root after a commit. */
export const getRootVersion = (committed: CommitResult): number => meteringBucketRecords.getVersion(committed, rootKey)

export const getRoot = (bucketId: MeteringBucketId) =>
  meteringBucketRecords.get(Partition.forMeteringBucket(bucketId), rootKey)

/** The root of a bucket. Fails if the bucket does not exist. */
export const findMeteringBucket = Effect.fnUntraced(function* (bucketId: string) {
  const root = Schema.is(MeteringBucketId)(bucketId) ? yield* getRoot(bucketId) : Option.none()
  return Option.isNone(root) ? yield* new MeteringBucketNotFound({ bucketId: String(bucketId) }) : root.value
})
