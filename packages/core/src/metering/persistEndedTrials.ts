/**
 * Writes the status of subscriptions whose trial has ended, before subscriptions are listed by status.
 */
import { type DateTime, Effect } from "effect"
import type { Entry } from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import * as Customer from "./customerRecords.ts"
import type { MeteringBucket } from "./MeteringBucket.ts"
import { findMeteringBucket, rootRecords } from "./meteringBucketRecords.ts"
import type { StoredSubscription } from "./Subscription.ts"
import { inStatus, subscriptionRecords } from "./subscriptionRecords.ts"
import * as Trial from "./Trial.ts"
import { endedTerms, trialIndexed } from "./trialEnds.ts"

const pageSize = 200

/** How many subscriptions one commit writes. */
const batchSize = 100

const nothingToWrite: ReadonlyArray<Entry<StoredSubscription>> = []

/** Some of the trials that have ended and are not yet written so; found by when they end. */
const findEndedTrials = Effect.fnUntraced(function* (root: Entry<MeteringBucket>, now: DateTime.Utc) {
  const partition = Partition.metering(root.value.id)
  const terms = [inStatus("trialing"), trialIndexed, ...endedTerms(now)]
  const totals = yield* subscriptionRecords.pages(
    partition,
    terms.map((term) => ({ where: [term], offset: 0, limit: 0 }))
  )
  const [trialing, indexed, ...ended] = totals.map(({ total }) => total)
  for (const [index, term] of endedTerms(now).entries()) {
    for (let offset = 0; offset < (ended[index] ?? 0); offset += pageSize) {
      const { entries } = yield* subscriptionRecords.page(partition, { where: [term], offset, limit: pageSize })
      const found = entries.filter(({ value }) => Trial.hasEnded(value, now))
      if (found.length > 0) return found
    }
  }
  return trialing === indexed ? nothingToWrite : yield* findNotIndexed(root, trialing ?? 0)
})

/** Trials that a release before 0.2 wrote: written again, they are indexed. */
const findNotIndexed = Effect.fnUntraced(function* (root: Entry<MeteringBucket>, total: number) {
  const store = yield* Store
  const indexed = subscriptionRecords.indexTerm(trialIndexed)
  const terms = [subscriptionRecords.indexTerm(inStatus("trialing"))]
  for (let offset = 0; offset < total; offset += pageSize) {
    const [page] = yield* store.list(Partition.metering(root.value.id), [
      { indexTerms: terms, offset, limit: pageSize }
    ])
    const records = (page?.records ?? []).filter((record) => !record.indexTerms.includes(indexed))
    if (records.length > 0) return yield* Effect.forEach(records, subscriptionRecords.decode)
  }
  return nothingToWrite
})

/** Writes some of them; another process may have been faster, with the same. */
const write = Effect.fnUntraced(function* (
  root: Entry<MeteringBucket>,
  entries: ReadonlyArray<Entry<StoredSubscription>>,
  now: DateTime.Utc
) {
  const store = yield* Store
  const customers = new Set(entries.map(({ value }) => value.customerKey))
  const marks = yield* Effect.forEach(customers, (customerKey) =>
    Customer.readCustomerVersion(root.value.id, customerKey)
  )
  yield* store.commit(Partition.metering(root.value.id), [
    rootRecords.assertUnchanged(root),
    ...marks.map(Customer.bumpCustomerVersion),
    ...entries.map((entry) => {
      const status = Trial.statusAt(entry.value, now)
      const updatedOn = status === entry.value.status ? entry.value.updatedOn : now
      return subscriptionRecords.replace(entry, { ...entry.value, status, updatedOn })
    })
  ])
})

/** The bucket's root is checked by every commit, so that nothing is written to a bucket that is being removed. */
export const persistEndedTrials = (bucketId: string, now: DateTime.Utc) =>
  retryOnConflict(
    Effect.gen(function* () {
      const root = yield* findMeteringBucket(bucketId)
      for (let found = yield* findEndedTrials(root, now); found.length > 0; found = yield* findEndedTrials(root, now)) {
        for (let start = 0; start < found.length; start += batchSize) {
          yield* write(root, found.slice(start, start + batchSize), now)
        }
      }
    })
  )
