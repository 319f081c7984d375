import { Effect, Option, Schema } from "effect"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import type { CommitResult } from "../store/Store.ts"
import { MeteringBucket, MeteringBucketId, MeteringBucketNotFound } from "./MeteringBucket.ts"

const root = "root"

/**
 * A bucket's root stands inside its partition, and every commit there checks it: once it is gone, so is everything.
 */
export const rootRecords = Collection.make({ name: "bucket", format: 1, schema: MeteringBucket, key: () => root })

/** The version that a commit gave to a bucket's root. */
export const rootVersionIn = (committed: CommitResult): number => rootRecords.versionIn(committed, root)

/** The root of a bucket, if there is one. */
export const rootOf = (bucketId: MeteringBucketId) => rootRecords.get(Partition.metering(bucketId), root)

/** The root of a bucket, which is there as long as the bucket is. */
export const findMeteringBucket = Effect.fnUntraced(function* (bucketId: string) {
  const found = Schema.is(MeteringBucketId)(bucketId) ? yield* rootOf(bucketId) : Option.none()
  return Option.isNone(found) ? yield* new MeteringBucketNotFound({ bucketId: String(bucketId) }) : found.value
})
