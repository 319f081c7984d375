import { Collection, Partition } from "@tollgate/store/internal"
import { Effect, Option, Schema } from "effect"
import { MeteringBucket, MeteringBucketId } from "./MeteringBucket.ts"
import { MeteringBucketNotFound } from "./MeteringBucketError.ts"

/** The key of the record that describes the bucket. A stored name, which cannot change. */
const bucketEntryKey = "root"

/**
 * The record that describes a bucket, in the bucket's partition. Every commit to the partition checks it, so no write
 * succeeds after it is removed.
 */
export const meteringBucketRecords = Collection.make({
  name: "bucket",
  format: 1,
  schema: MeteringBucket,
  key: () => bucketEntryKey
})

export const getBucketEntry = (bucketId: MeteringBucketId) =>
  meteringBucketRecords.get(Partition.forMeteringBucket(bucketId), bucketEntryKey)

/** The entry of a bucket. Fails if the bucket does not exist. */
export const findMeteringBucket = Effect.fnUntraced(function* (bucketId: string) {
  const bucketEntry = Schema.is(MeteringBucketId)(bucketId) ? yield* getBucketEntry(bucketId) : Option.none()
  return Option.isNone(bucketEntry)
    ? yield* new MeteringBucketNotFound({ bucketId: String(bucketId) })
    : bucketEntry.value
})
