/**
 * What one search of an account may cost.
 */
import { nextTurn } from "@tollgate/store/internal"
import { Effect } from "effect"

/** Key buckets and metering buckets that one search reads, and how many at once. */
export const maxBuckets = 100
const bucketConcurrency = 8

/** Searches buckets, each in a turn of its own: the store may answer at once, and a hundred answers together take long. */
export const searchBuckets = <Bucket, A, E, R>(
  buckets: ReadonlyArray<Bucket>,
  search: (bucket: Bucket) => Effect.Effect<A, E, R>
): Effect.Effect<ReadonlyArray<A>, E, R> =>
  Effect.forEach(buckets, (bucket) => Effect.andThen(nextTurn, search(bucket)), { concurrency: bucketConcurrency })
