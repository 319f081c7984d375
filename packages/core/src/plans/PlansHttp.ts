/**
 * Unpacks a request, calls the service, packs the answer.
 */
import { Effect } from "effect"
import type { HandlersOf } from "../http/handlers.ts"
import { makeIdempotent } from "../http/idempotent.ts"
import { ifMatchIn, withETag } from "../http/parameters.ts"
import { explained } from "../http/problems.ts"
import { Buckets } from "../metering/Buckets.ts"
import { ownBucket } from "../metering/BucketsHttp.ts"
import { optional } from "../shared/optional.ts"
import { Plans } from "./Plans.ts"

export const PlansHttp = Effect.gen(function* () {
  const buckets = yield* Buckets
  const plans = yield* Plans
  const idempotent = yield* makeIdempotent
  return {
    list: ({ params: { bucketId }, query }) =>
      explained(Effect.andThen(ownBucket(buckets, bucketId), plans.list(bucketId, query))),
    create: ({ params: { bucketId }, payload }) =>
      idempotent((idempotency) =>
        Effect.gen(function* () {
          yield* ownBucket(buckets, bucketId)
          return withETag(yield* plans.create(bucketId, payload, optional({ idempotency })))
        }).pipe(explained)
      ),
    get: ({ params: { bucketId, planId } }) =>
      Effect.gen(function* () {
        yield* ownBucket(buckets, bucketId)
        return withETag(yield* plans.get(bucketId, planId))
      }).pipe(explained),
    update: ({ params: { bucketId, planId }, headers, payload }) =>
      Effect.gen(function* () {
        yield* ownBucket(buckets, bucketId)
        const conditions = optional({ ifMatch: yield* ifMatchIn(headers["if-match"]) })
        return withETag(yield* plans.update(bucketId, planId, payload, conditions))
      }).pipe(explained),
    remove: ({ params: { bucketId, planId }, headers }) =>
      Effect.gen(function* () {
        yield* ownBucket(buckets, bucketId)
        yield* plans.remove(bucketId, planId, optional({ ifMatch: yield* ifMatchIn(headers["if-match"]) }))
      }).pipe(explained)
  } satisfies HandlersOf<"plans">
})
