/**
 * HTTP handlers of plans: each passes the decoded request to the service and maps its errors to problems.
 */
import { Effect } from "effect"
import { parseIfMatch, withETag } from "../../api/etag.ts"
import { MeteringBuckets } from "../../metering/MeteringBuckets.ts"
import { Plans } from "../../metering/Plans.ts"
import type { GroupHandlers } from "../GroupHandlers.ts"
import { mapErrorsToProblems } from "../mapErrorsToProblems.ts"
import { makeIdempotencyGuard } from "./idempotencyGuard.ts"
import { findOwnMeteringBucket } from "./MeteringBucketsHttp.ts"

export const PlansHttp = Effect.gen(function* () {
  const meteringBuckets = yield* MeteringBuckets
  const plans = yield* Plans
  const runIdempotent = yield* makeIdempotencyGuard
  return {
    list: ({ params: { bucketId }, query }) =>
      mapErrorsToProblems(
        Effect.andThen(findOwnMeteringBucket(meteringBuckets, bucketId), plans.list(bucketId, query))
      ),
    create: ({ params: { bucketId }, payload }) =>
      runIdempotent((idempotency) =>
        Effect.gen(function* () {
          yield* findOwnMeteringBucket(meteringBuckets, bucketId)
          return withETag(yield* plans.create(bucketId, payload, { idempotency }))
        }).pipe(mapErrorsToProblems)
      ),
    get: ({ params: { bucketId, planId } }) =>
      Effect.gen(function* () {
        yield* findOwnMeteringBucket(meteringBuckets, bucketId)
        return withETag(yield* plans.get(bucketId, planId))
      }).pipe(mapErrorsToProblems),
    update: ({ params: { bucketId, planId }, headers, payload }) =>
      Effect.gen(function* () {
        yield* findOwnMeteringBucket(meteringBuckets, bucketId)
        const conditions = { ifMatch: yield* parseIfMatch(headers["if-match"]) }
        return withETag(yield* plans.update(bucketId, planId, payload, conditions))
      }).pipe(mapErrorsToProblems),
    remove: ({ params: { bucketId, planId }, headers }) =>
      Effect.gen(function* () {
        yield* findOwnMeteringBucket(meteringBuckets, bucketId)
        yield* plans.remove(bucketId, planId, { ifMatch: yield* parseIfMatch(headers["if-match"]) })
      }).pipe(mapErrorsToProblems)
  } satisfies GroupHandlers<"plans">
})
