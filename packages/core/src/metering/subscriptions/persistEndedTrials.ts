/**
 * Updates the stored status of subscriptions whose trial has ended, and records the change. Runs in the background: every
 * read computes the status itself, but lists are filtered by the stored one.
 */
import { type DateTime, Effect, Stream } from "effect"
import { asSystem } from "../../outbox/CurrentActor.ts"
import type { Entry } from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Store } from "../../store/Store.ts"
import { bumpCustomerVersion, readCustomerVersion } from "../model/customerRecords.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { recordStatusChange } from "../model/meteringEvents.ts"
import type { StoredSubscription } from "../model/Subscription.ts"
import { subscriptionRecords } from "../model/subscriptionRecords.ts"
import * as Trial from "../model/Trial.ts"
import { readExternalIds, toSubscription } from "../model/toSubscription.ts"
import { endedTrialTerms } from "../model/trialEnds.ts"

const pageSize = 200

/** Maximum subscriptions in one commit. */
const batchSize = 100

const noEntries: ReadonlyArray<Entry<StoredSubscription>> = []

/** One batch of subscriptions with an ended trial whose stored status is still `trialing`. */
const findEndedTrials = Effect.fnUntraced(function* (bucketEntry: Entry<MeteringBucket>, now: DateTime.Utc) {
  const partition = Partition.forMeteringBucket(bucketEntry.value.id)
  const terms = endedTrialTerms(now)
  const pages = yield* subscriptionRecords.pages(
    partition,
    terms.map((term) => ({ where: [term], offset: 0, limit: 0 }))
  )
  for (const [index, term] of terms.entries()) {
    if (pages[index]?.total === 0) continue
    const ended = yield* subscriptionRecords.stream(partition, { where: [term], pageSize }).pipe(
      Stream.filter(({ value }) => Trial.hasEnded(value, now)),
      Stream.take(pageSize),
      Stream.runCollect
    )
    if (ended.length > 0) return ended
  }
  return noEntries
})

/** Writes the effective status of one batch. A conflict is retried: another process may write the same batch. */
const writeStatuses = Effect.fnUntraced(function* (
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
  const planIds = [...new Set(entries.flatMap(({ value }) => value.planIds))]
  const externalIds = yield* readExternalIds(bucket.id, planIds)
  const changes = yield* Effect.forEach(
    entries,
    Effect.fnUntraced(function* (entry) {
      const previousStatus = entry.value.status
      const status = Trial.statusAt(entry.value, now)
      const value = { ...entry.value, status, updatedOn: now }
      const subscription = toSubscription(value, externalIds, now)
      return [
        subscriptionRecords.replace(entry, value),
        yield* recordStatusChange(bucket, subscription, previousStatus)
      ]
    }, asSystem)
  )
  yield* store.commit(Partition.forMeteringBucket(bucket.id), [
    meteringBucketRecords.assertUnchanged(bucketEntry),
    ...customerVersions.map(bumpCustomerVersion),
    ...changes.flat()
  ])
})

export const persistEndedTrials = (bucketId: string, now: DateTime.Utc) =>
  retryOnConflict(
    Effect.gen(function* () {
      const bucketEntry = yield* findMeteringBucket(bucketId)
      let entries = yield* findEndedTrials(bucketEntry, now)
      while (entries.length > 0) {
        for (let start = 0; start < entries.length; start += batchSize) {
          yield* writeStatuses(bucketEntry, entries.slice(start, start + batchSize), now)
        }
        entries = yield* findEndedTrials(bucketEntry, now)
      }
    })
  )
