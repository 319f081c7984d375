/**
 * Writes what subscriptions have changed by themselves, at the end of a trial or by a pending change, and records it. Runs in
 * the background: every read and count computes it, but lists are filtered by what is stored.
 */

import { type Entry, Partition, retryOnConflict, Store } from "@tollgate/store/internal"
import { DateTime, Effect, Stream } from "effect"
import { bumpCustomerVersion, readCustomerVersion } from "../model/customerRecords.ts"
import { laterTerms, termsUntil } from "../model/dueTerms.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { recordDueChanges } from "../model/meteringEvents.ts"
import { getDueChange, getPlanIds } from "../model/PendingChange.ts"
import type { StoredSubscription } from "../model/Subscription.ts"
import { getDueTimes, isOutdated, subscriptionAt } from "../model/subscriptionAt.ts"
import { subscriptionRecords } from "../model/subscriptionRecords.ts"
import { readExternalIds } from "../model/toSubscription.ts"
import { changeClosings } from "../periods/closingWrites.ts"

const pageSize = 200

/** Maximum subscriptions in one commit. */
const batchSize = 100

const noEntries: ReadonlyArray<Entry<StoredSubscription>> = []

/** One batch of subscriptions that have changed since they were written. */
const findOutdated = Effect.fnUntraced(function* (bucketEntry: Entry<MeteringBucket>, now: DateTime.Utc) {
  const partition = Partition.forMeteringBucket(bucketEntry.value.id)
  const terms = termsUntil(now)
  const pages = yield* subscriptionRecords.pages(
    partition,
    terms.map((term) => ({ where: [term], offset: 0, limit: 0 }))
  )
  for (const [index, term] of terms.entries()) {
    if (pages[index]?.total === 0) continue
    const found = yield* subscriptionRecords.stream(partition, { where: [term], pageSize }).pipe(
      Stream.filter(({ value }) => isOutdated(value, now)),
      Stream.take(pageSize),
      Stream.runCollect
    )
    if (found.length > 0) return found
  }
  return noEntries
})

/** Writes one batch as it is now. A conflict is retried: another process may write the same batch. */
const writeBatch = Effect.fnUntraced(function* (
  bucketEntry: Entry<MeteringBucket>,
  entries: ReadonlyArray<Entry<StoredSubscription>>,
  now: DateTime.Utc
) {
  const store = yield* Store
  const customers = new Set(entries.map(({ value }) => value.customerKey))
  const bucket = bucketEntry.value
  const customerVersions = yield* Effect.forEach(customers, (customerKey) =>
    readCustomerVersion(bucket.id, customerKey)
  )
  const planIds = [...new Set(entries.flatMap(({ value }) => getPlanIds(value)))]
  const externalIds = yield* readExternalIds(bucket.id, planIds)
  const written = entries.map((before) => {
    const updatedOn = getDueChange(before.value, now)?.effectiveOn ?? now
    return { before, after: { ...subscriptionAt(before.value, now), updatedOn } }
  })
  const closings = yield* changeClosings(bucketEntry, written, now)
  const changes = yield* Effect.forEach(
    written,
    Effect.fnUntraced(function* ({ before: entry, after }) {
      return [
        subscriptionRecords.replace(entry, after),
        ...(yield* recordDueChanges(bucket, entry.value, externalIds, now))
      ]
    })
  )
  yield* store.commit(Partition.forMeteringBucket(bucket.id), [
    meteringBucketRecords.assertUnchanged(bucketEntry),
    ...customerVersions.map(bumpCustomerVersion),
    ...closings.changes,
    ...changes.flat()
  ])
})

/**
 * When a subscription changes next, if it is in the current hour; otherwise the beginning of the hour, day, month or year in
 * which it changes.
 */
const findNextTime = Effect.fnUntraced(function* (bucketId: string, now: DateTime.Utc) {
  const partition = Partition.forMeteringBucket(bucketId)
  const where = termsUntil(now).slice(-1)
  const ofHour = yield* Stream.runFold(
    subscriptionRecords.stream(partition, { where, pageSize }),
    (): DateTime.Utc | undefined => undefined,
    (first, { value }) => {
      const [next] = getDueTimes(value)
      return first === undefined || next === undefined ? (next ?? first) : DateTime.min(first, next)
    }
  )
  if (ofHour !== undefined) return ofHour
  const later = laterTerms(now)
  const pages = yield* subscriptionRecords.pages(
    partition,
    later.map(({ term }) => ({ where: [term], offset: 0, limit: 0 }))
  )
  return later[pages.findIndex(({ total }) => total > 0)]?.start
})

/** Writes all subscriptions that have changed by themselves. Returns when to look again, if more will. */
export const persistDueChanges = (bucketId: string, now: DateTime.Utc) =>
  retryOnConflict(
    Effect.gen(function* () {
      const bucketEntry = yield* findMeteringBucket(bucketId)
      let entries = yield* findOutdated(bucketEntry, now)
      while (entries.length > 0) {
        for (let start = 0; start < entries.length; start += batchSize) {
          yield* writeBatch(bucketEntry, entries.slice(start, start + batchSize), now)
        }
        entries = yield* findOutdated(bucketEntry, now)
      }
      return yield* findNextTime(bucketId, now)
    })
  ).pipe(
    // It was removed.
    Effect.catchTag("MeteringBucketNotFound", () => Effect.succeed(undefined))
  )
