/**
 * Looks at all alerts of a metering bucket again and again, in the background: for what no count notices, such as a grant that
 * expires or a smaller plan, and for what a process did not write because it died.
 */

import { Collection, Partition, Store } from "@tollgate/store/internal"
import { DateTime, Effect, Option, Schema } from "effect"
import { alertRecords } from "../model/alertRecords.ts"
import { findMeteringBucket } from "../model/meteringBucketRecords.ts"
import { updateAlertsOf } from "./updateAlerts.ts"

/** The alerts of a metering bucket are looked at. The name is stored. */
export const alertsJob = { name: "alerts" }

/** Customers in one run. */
const batchSize = 100
/** When a run goes on that could not look at all customers. */
const nextBatch = { seconds: 5 }
/** When the next round begins. */
export const nextRound = { minutes: 5 }

/** Where the next run goes on. Absent at the beginning of a round. */
const placeRecords = Collection.make({
  name: "alerts-place",
  countsBytes: false,
  format: 1,
  schema: Schema.Struct({ after: Schema.Int }),
  key: () => "all"
})

/** Returns when to look again; nothing if there are no alerts. */
export const sweepAlerts = Effect.fnUntraced(
  function* (bucketId: string, now: DateTime.Utc) {
    const store = yield* Store
    const partition = Partition.forMeteringBucket(bucketId)
    const bucketEntry = yield* findMeteringBucket(bucketId)
    const place = yield* placeRecords.get(partition, "all")
    const after = Option.map(place, ({ value }) => value.after)
    const { entries, next } = yield* alertRecords.page(partition, {
      limit: batchSize,
      offset: 0,
      after: Option.getOrUndefined(after),
      mayEndEarly: true
    })
    for (const { value } of entries) {
      yield* updateAlertsOf(bucketEntry.value.accountName, bucketId, value.customerKey, now)
    }
    if (next !== undefined) {
      const value = { after: next }
      const write = Option.isSome(place) ? placeRecords.replace(place.value, value) : placeRecords.insert(value)
      yield* store.commit(partition, [write])
      return DateTime.addDuration(now, nextBatch)
    }
    if (Option.isSome(place)) yield* store.commit(partition, [placeRecords.remove(place.value)])
    return entries.length > 0 || Option.isSome(place) ? DateTime.addDuration(now, nextRound) : undefined
  },
  // It was removed.
  Effect.catchTag("MeteringBucketNotFound", () => Effect.succeed(undefined))
)
