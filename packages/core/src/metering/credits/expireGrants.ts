/**
 * Settles the credit of customers whose grants have expired, in the background.
 */

import { Partition } from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import { readFirst } from "../../jobs/removeDue.ts"
import { findMeteringBucket } from "../model/meteringBucketRecords.ts"
import { expiryTimes, grantRecords } from "./grantRecords.ts"
import { readSettledCustomer } from "./settleCredit.ts"

/** Grants that expire at a time. The name is stored. */
export const grantsJob = { name: "grants" }

const batchSize = 200

/** Returns when the next grants expire, if there are more. */
export const expireGrants = Effect.fnUntraced(
  function* (bucketId: string, now: DateTime.Utc) {
    const partition = Partition.forMeteringBucket(bucketId)
    const { accountName } = (yield* findMeteringBucket(bucketId)).value
    const found = (yield* readFirst(grantRecords, partition, expiryTimes.termsUntil(now), batchSize)).flat()
    const times = found.map(({ value }) => ({ value, expiresOn: value.expiresOn ?? now }))
    const due = times.filter(({ expiresOn }) => DateTime.isLessThanOrEqualTo(expiresOn, now))
    for (const customerKey of new Set(due.map(({ value }) => value.customerKey))) {
      yield* readSettledCustomer(accountName, bucketId, customerKey, now)
    }
    if (due.length >= batchSize) return now
    const soon = times.filter((entry) => !due.includes(entry)).map(({ expiresOn }) => expiresOn)
    if (soon.length > 0) return soon.reduce(DateTime.min)
    const later = expiryTimes.termsAfter(now)
    const pages = yield* readFirst(
      grantRecords,
      partition,
      later.map(({ term }) => term),
      1
    )
    return later[pages.findIndex((entries) => entries.length > 0)]?.start
  },
  // It was removed.
  Effect.catchTag("MeteringBucketNotFound", () => Effect.succeed(undefined))
)
