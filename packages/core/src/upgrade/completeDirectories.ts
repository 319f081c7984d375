/**
 * Completes the directories of a store that an older version of Tollgate wrote: adds the missing accounts, the missing
 * projects, the missing dates and marks. A record marks a store that is complete, so that later starts read only that record.
 *
 * Every step can be repeated, and several processes may run it at once.
 */
import { DateTime, Effect, Fiber, Option, Schema } from "effect"
import { addMissingAccounts } from "../accounts/accountRecords.ts"
import { countLegacyNames } from "../deployments/model/countLegacyNames.ts"
import { nameReservations } from "../deployments/model/nameRecords.ts"
import { readProjects } from "../deployments/model/readProjects.ts"
import { readKeyBuckets } from "../keys/keyBucketRecords.ts"
import { markBucket } from "../metering/markedBuckets.ts"
import { directoryRecords, trialsTerm } from "../metering/meteringDirectoryRecords.ts"
import { byStatus, subscriptionRecords } from "../metering/subscriptionRecords.ts"
import { runBestEffort } from "../runtime/runBestEffort.ts"
import type { AccountName } from "../schema/Names.ts"
import { Timestamp } from "../schema/Timestamp.ts"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"

/** Increase it when the directories need to be completed again. */
const currentVersion = 2
/** Bounds the reads and the commit of each step. */
const pageSize = 100
/** How long a start waits. After that the server starts, and the work continues in the background. */
const maxDelay = "10 seconds"
/** When the process that completed the directories does so once more, for older processes that were still running. */
const repeatAfter = "1 hour"

const completionRecords = Collection.make({
  name: "completion",
  format: 1,
  schema: Schema.Struct({ directories: Schema.String, version: Schema.Int, completedOn: Timestamp }),
  key: ({ directories }) => directories
})
const directory = Partition.accountsDirectory
const directories = "all"

const isComplete = Effect.map(
  completionRecords.get(directory, directories),
  Option.exists(({ value }) => value.version >= currentVersion)
)

const markComplete = retryOnConflict(
  Effect.gen(function* () {
    const store = yield* Store
    const completion = { directories, version: currentVersion, completedOn: yield* DateTime.now }
    const existing = yield* completionRecords.get(directory, directories)
    if (Option.exists(existing, ({ value }) => value.version > currentVersion)) return
    yield* store.commit(directory, [
      Option.isSome(existing)
        ? completionRecords.replace(existing.value, completion)
        : completionRecords.insert(completion)
    ])
  })
)

interface Range {
  readonly offset: number
  readonly limit: number
}

/**
 * Reads all pages from the end to the start: a concurrent removal shifts entries towards pages that are still to be
 * read, so none is skipped.
 */
const forEachPage = Effect.fnUntraced(function* <P extends { readonly total: number }, E, R, E2, R2>(
  readPage: (range: Range) => Effect.Effect<P, E, R>,
  handlePage: (page: P) => Effect.Effect<void, E2, R2>
) {
  const { total } = yield* readPage({ offset: 0, limit: 0 })
  for (let end = total; end > 0; end -= pageSize) {
    const offset = Math.max(0, end - pageSize)
    yield* handlePage(yield* readPage({ offset, limit: end - offset }))
  }
})

/** Marks a metering bucket that has subscriptions on trial, so that their end is noticed. */
const markIfTrialing = Effect.fnUntraced(function* (bucketId: string) {
  const query = { where: [byStatus("trialing")], offset: 0, limit: 0 }
  const { total } = yield* subscriptionRecords.page(Partition.forMeteringBucket(bucketId), query)
  if (total > 0) yield* markBucket(trialsTerm, bucketId)
})

const complete = Effect.gen(function* () {
  /** The date of the oldest content of each account. */
  const dates = new Map<AccountName, DateTime.Utc>()
  const addContent = (accountName: AccountName, createdOn: DateTime.Utc) => {
    const date = dates.get(accountName)
    if (date === undefined || DateTime.isLessThan(createdOn, date)) dates.set(accountName, createdOn)
  }
  yield* forEachPage(readKeyBuckets, ({ values }) =>
    Effect.sync(() => {
      for (const { accountName, createdOn } of values) addContent(accountName, createdOn)
    })
  )
  yield* forEachPage(
    (range) => directoryRecords.page(Partition.meteringDirectory, range),
    ({ entries }) =>
      Effect.forEach(
        entries,
        ({ value: { bucket } }) => {
          addContent(bucket.accountName, bucket.createdOn)
          return markIfTrialing(bucket.id)
        },
        { discard: true }
      )
  )
  yield* forEachPage(
    (range) => nameReservations.page(Partition.deploymentDirectory, range),
    ({ entries }) => countLegacyNames(entries)
  )
  yield* forEachPage(readProjects, ({ values }) =>
    Effect.sync(() => {
      for (const { accountName, createdOn } of values) addContent(accountName, createdOn)
    })
  )
  // Sorted, because lists are in the order in which records were inserted.
  const accounts = [...dates]
    .map(([name, createdOn]) => ({ name, createdOn }))
    .sort((left, right) => DateTime.Order(left.createdOn, right.createdOn))
  for (let start = 0; start < accounts.length; start += pageSize) {
    yield* addMissingAccounts(accounts.slice(start, start + pageSize))
  }
  yield* markComplete
})

const description = "Completing the directories of accounts, key buckets and projects"

/** Completes the directories when the services start. A failure does not prevent the start: the next start repeats it. */
export const completeDirectories = Effect.gen(function* () {
  const completeOnce = Effect.gen(function* () {
    if (yield* isComplete) return
    yield* Effect.forkScoped(Effect.andThen(Effect.sleep(repeatAfter), runBestEffort(description, complete)))
    yield* complete
  })
  const fiber = yield* Effect.forkScoped(runBestEffort(description, completeOnce), { startImmediately: true })
  yield* Effect.timeoutOption(Fiber.await(fiber), maxDelay)
})
