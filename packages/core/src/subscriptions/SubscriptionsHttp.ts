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
import { Usage } from "../metering/Usage.ts"
import { optional } from "../shared/optional.ts"
import { Subscriptions } from "./Subscriptions.ts"

export const SubscriptionsHttp = Effect.gen(function* () {
  const buckets = yield* Buckets
  const subscriptions = yield* Subscriptions
  const usage = yield* Usage
  const idempotent = yield* makeIdempotent
  return {
    list: ({ params: { bucketId }, query }) =>
      explained(Effect.andThen(ownBucket(buckets, bucketId), subscriptions.list(bucketId, query))),
    create: ({ params: { bucketId }, payload }) =>
      idempotent((idempotency) =>
        Effect.gen(function* () {
          yield* ownBucket(buckets, bucketId)
          return withETag(yield* subscriptions.create(bucketId, payload, optional({ idempotency })))
        }).pipe(explained)
      ),
    get: ({ params: { bucketId, subscriptionId } }) =>
      Effect.gen(function* () {
        yield* ownBucket(buckets, bucketId)
        return withETag(yield* subscriptions.get(bucketId, subscriptionId))
      }).pipe(explained),
    update: ({ params: { bucketId, subscriptionId }, headers, payload }) =>
      Effect.gen(function* () {
        yield* ownBucket(buckets, bucketId)
        const conditions = optional({ ifMatch: yield* ifMatchIn(headers["if-match"]) })
        return withETag(yield* subscriptions.update(bucketId, subscriptionId, payload, conditions))
      }).pipe(explained),
    remove: ({ params: { bucketId, subscriptionId }, headers }) =>
      Effect.gen(function* () {
        yield* ownBucket(buckets, bucketId)
        const conditions = optional({ ifMatch: yield* ifMatchIn(headers["if-match"]) })
        yield* subscriptions.remove(bucketId, subscriptionId, conditions)
      }).pipe(explained),
    quotas: ({ params: { bucketId, subscriptionId } }) =>
      explained(Effect.andThen(ownBucket(buckets, bucketId), usage.quotas(bucketId, subscriptionId))),
    consume: ({ params: { bucketId, subscriptionId }, payload }) =>
      idempotent((idempotency) =>
        Effect.gen(function* () {
          yield* ownBucket(buckets, bucketId)
          return yield* usage.consume(bucketId, subscriptionId, payload.meters, optional({ idempotency }))
        }).pipe(explained)
      )
  } satisfies HandlersOf<"subscriptions">
})
