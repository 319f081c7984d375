/**
 * Writes what was noted of a metering bucket: adds it to the records of the subscriptions and of the whole bucket.
 */

import { isOutcomeUnknown, Partition, retryOnConflict, Store } from "@tollgate/store/internal"
import { Array as Arr, Effect, Option } from "effect"
import { directoryRecords } from "../model/meteringDirectoryRecords.ts"
import { maxValues } from "../model/UsageGroup.ts"
import { GroupedAmounts } from "./GroupedAmounts.ts"
import { getGroupsKey, getGroupsPartition, groupRecords, maxIntroduced, wholeBucket } from "./groupRecords.ts"
import type { NotedDay, UseNotes } from "./UseNotes.ts"

/** How many subscriptions a commit writes. Short, because other processes write the record of the bucket, too. */
const batchSize = 20

const isListed = (bucketId: string) =>
  Effect.map(
    directoryRecords.get(Partition.meteringDirectory, bucketId),
    Option.match({ onNone: () => false, onSome: ({ value }) => !value.deleting })
  )

/** Writes what subscriptions used on one day. */
const writeDay = Effect.fnUntraced(function* (bucketId: string, day: number, noted: ReadonlyArray<NotedDay>) {
  const store = yield* Store
  const partition = getGroupsPartition(bucketId)
  const ids = [wholeBucket, ...noted.map(({ usageId }) => usageId)]
  const records = yield* store.get(
    partition,
    ids.map((id) => groupRecords.recordKey(getGroupsKey(id, day)))
  )
  const [bucketEntry, ...entries] = yield* Effect.forEach(records, (record) =>
    record === undefined ? Effect.undefined : groupRecords.decode(record)
  )
  // A removed bucket has no record, and gets none. Looked at once a day.
  if (bucketEntry === undefined && !(yield* isListed(bucketId))) return
  const ofBucket = new GroupedAmounts(maxValues.bucket, bucketEntry?.value)
  const put = (entry: (typeof entries)[number], usageId: string, amounts: GroupedAmounts) => {
    const value = { usageId, day, groups: amounts.toGroups() }
    return entry === undefined ? groupRecords.insert(value) : groupRecords.replace(entry, value)
  }
  const changes = noted.map(({ usageId, amounts }, index) => {
    const entry = entries[index]
    const own = new GroupedAmounts(maxValues.subscription, entry?.value)
    own.addAll(amounts)
    ofBucket.addAll(amounts, (name, value) => own.isAmongFirst(maxIntroduced, name, value))
    return put(entry, usageId, own)
  })
  // Interrupted, it would be written again although it may have been applied.
  yield* Effect.uninterruptible(store.commit(partition, [put(bucketEntry, wholeBucket, ofBucket), ...changes]))
})

/** Puts back what it could not write. What a commit without an outcome had is not counted twice: it stays without a group. */
export const writeUses = Effect.fnUntraced(function* (bucketId: string, notes: UseNotes) {
  const unwritten = notes.take()
  const written = (batch: ReadonlyArray<NotedDay>) =>
    Effect.sync(() => {
      for (const { usageId, day } of batch) unwritten.delete(getGroupsKey(usageId, day))
    })
  const write = Effect.forEach(
    Map.groupBy([...unwritten.values()], ({ day }) => day),
    ([day, noted]) =>
      Effect.forEach(
        Arr.chunksOf(noted, batchSize),
        (batch) =>
          retryOnConflict(writeDay(bucketId, day, batch)).pipe(
            Effect.tapError((error) => (isOutcomeUnknown(error) ? written(batch) : Effect.void)),
            Effect.andThen(written(batch))
          ),
        { discard: true }
      ),
    { discard: true }
  )
  yield* Effect.onError(write, () => Effect.sync(() => notes.putBack(unwritten)))
})
