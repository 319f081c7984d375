/**
 * Unpacks a request, calls the service, packs the answer.
 */
import { Effect } from "effect"
import type { HandlersOf } from "../http/handlers.ts"
import { makeIdempotentRunner } from "../http/idempotent.ts"
import { parseIfMatch, withETag } from "../http/parameters.ts"
import { toProblems } from "../http/problems.ts"
import { MeteringBuckets } from "../metering/Buckets.ts"
import { findOwnBucket } from "../metering/BucketsHttp.ts"
import { optional } from "../shared/optional.ts"
import { Plans } from "./Plans.ts"

export const PlansHttp = Effect.gen(function* () {
  const buckets = yield* MeteringBuckets
  const plans = yield* Plans
  const idempotent = yield* makeIdempotentRunner
  return {
    list: ({ params: { bucketId }, query }) =>
      toProblems(Effect.andThen(findOwnBucket(buckets, bucketId), plans.list(bucketId, query))),
    create: ({ params: { bucketId }, payload }) =>
      idempotent((idempotency) =>
        Effect.gen(function* () {
          yield* findOwnBucket(buckets, bucketId)
          return withETag(yield* plans.create(bucketId, payload, optional({ idempotency })))
        }).pipe(toProblems)
      ),
    get: ({ params: { bucketId, planId } }) =>
      Effect.gen(function* () {
        yield* findOwnBucket(buckets, bucketId)
        return withETag(yield* plans.get(bucketId, planId))
      }).pipe(toProblems),
    update: ({ params: { bucketId, planId }, headers, payload }) =>
      Effect.gen(function* () {
        yield* findOwnBucket(buckets, bucketId)
        const conditions = optional({ ifMatch: yield* parseIfMatch(headers["if-match"]) })
        return withETag(yield* plans.update(bucketId, planId, payload, conditions))
      }).pipe(toProblems),
    remove: ({ params: { bucketId, planId }, headers }) =>
      Effect.gen(function* () {
        yield* findOwnBucket(buckets, bucketId)
        yield* plans.remove(bucketId, planId, optional({ ifMatch: yield* parseIfMatch(headers["if-match"]) }))
      }).pipe(toProblems)
  } satisfies HandlersOf<"plans">
})
