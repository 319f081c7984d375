/**
 * HTTP handlers of subscriptions and quotas: each passes the decoded request to the service and maps its errors to
 * problems.
 */
import { Effect } from "effect"
import { parseIfMatch, withETag } from "../../api/etag.ts"
import { MeteringBuckets } from "../../metering/MeteringBuckets.ts"
import { Subscriptions } from "../../metering/Subscriptions.ts"
import { Usage } from "../../metering/Usage.ts"
import type { GroupHandlers } from "../GroupHandlers.ts"
import { mapErrorsToProblems } from "../mapErrorsToProblems.ts"
import { makeIdempotencyGuard } from "./idempotencyGuard.ts"
import { findOwnMeteringBucket } from "./MeteringBucketsHttp.ts"

export const SubscriptionsHttp = Effect.gen(function* () {
  const meteringBuckets = yield* MeteringBuckets
  const subscriptions = yield* Subscriptions
  const usage = yield* Usage
  const runIdempotent = yield* makeIdempotencyGuard
  return {
    list: ({ params: { bucketId }, query }) =>
      mapErrorsToProblems(
        Effect.andThen(findOwnMeteringBucket(meteringBuckets, bucketId), subscriptions.list(bucketId, query))
      ),
    create: ({ params: { bucketId }, payload }) =>
      runIdempotent((idempotency) =>
        Effect.gen(function* () {
          yield* findOwnMeteringBucket(meteringBuckets, bucketId)
          return withETag(yield* subscriptions.create(bucketId, payload, { idempotency }))
        }).pipe(mapErrorsToProblems)
      ),
    get: ({ params: { bucketId, subscriptionId } }) =>
      Effect.gen(function* () {
        yield* findOwnMeteringBucket(meteringBuckets, bucketId)
        return withETag(yield* subscriptions.get(bucketId, subscriptionId))
      }).pipe(mapErrorsToProblems),
    update: ({ params: { bucketId, subscriptionId }, headers, payload }) =>
      Effect.gen(function* () {
        yield* findOwnMeteringBucket(meteringBuckets, bucketId)
        const conditions = { ifMatch: yield* parseIfMatch(headers["if-match"]) }
        return withETag(yield* subscriptions.update(bucketId, subscriptionId, payload, conditions))
      }).pipe(mapErrorsToProblems),
    remove: ({ params: { bucketId, subscriptionId }, headers }) =>
      Effect.gen(function* () {
        yield* findOwnMeteringBucket(meteringBuckets, bucketId)
        const conditions = { ifMatch: yield* parseIfMatch(headers["if-match"]) }
        yield* subscriptions.remove(bucketId, subscriptionId, conditions)
      }).pipe(mapErrorsToProblems),
    quotas: ({ params: { bucketId, subscriptionId } }) =>
      mapErrorsToProblems(
        Effect.andThen(findOwnMeteringBucket(meteringBuckets, bucketId), usage.quotas(bucketId, subscriptionId))
      ),
    consume: ({ params: { bucketId, subscriptionId }, payload }) =>
      runIdempotent((idempotency) =>
        Effect.gen(function* () {
          yield* findOwnMeteringBucket(meteringBuckets, bucketId)
          return yield* usage.consume(bucketId, subscriptionId, payload.meters, { idempotency })
        }).pipe(mapErrorsToProblems)
      )
  } satisfies GroupHandlers<"subscriptions">
})
