/**
 * Consumers that were removed and had more keys than one commit removes. Their keys are not valid from then on, because they
 * have no consumer; a job removes them, in batches.
 */

import {
  Collection,
  type Partition,
  type RecordWithParent,
  retryOnConflict,
  Store,
  StoreConflict
} from "@tollgate/store/internal"
import { Effect, Schema } from "effect"
import { consumerRecords } from "../records/consumerRecords.ts"
import { byConsumer, byHash, keyRecords } from "../records/keyRecords.ts"
import { batchSize } from "./rolls.ts"

/** Keys of consumers that were removed or rolled. */
export const keysJob = { name: "keys" }

export const removedConsumers = Collection.make({
  name: "removed-consumer",
  format: 1,
  schema: Schema.Struct({ id: Schema.String }),
  key: ({ id }) => id
})

/** Removes the keys of all removed consumers of a key bucket. */
export const removeOrphans = Effect.fnUntraced(function* (partition: Partition.Partition) {
  const store = yield* Store
  const removeNext = Effect.gen(function* () {
    const { entries: removed } = yield* removedConsumers.page(partition, { offset: 0, limit: 1 })
    for (const consumer of removed) {
      const where = [byConsumer(consumer.value.id)]
      const { entries: keys } = yield* keyRecords.page(partition, { where, offset: 0, limit: batchSize })
      const isLast = keys.length < batchSize
      yield* store.commit(partition, [
        ...keys.map(keyRecords.remove),
        ...(isLast ? [removedConsumers.remove(consumer)] : [])
      ])
    }
    return removed.length > 0
  })
  while (yield* retryOnConflict(removeNext)) yield* Effect.yieldNow
})

/** Whether the consumer of a key was removed. Another one may have its name. */
const isOrphan = Effect.fnUntraced(function* ({ record, parent }: RecordWithParent) {
  if (parent === undefined) return true
  const [key, consumer] = [yield* keyRecords.decode(record), yield* consumerRecords.decode(parent)]
  return key.value.consumerId !== consumer.value.id
})

/** Removes the keys with these hashes whose consumers were removed. */
const removeOrphansOf = Effect.fnUntraced(function* (partition: Partition.Partition, hashes: ReadonlyArray<string>) {
  const store = yield* Store
  const found = yield* store.getByUniqueKey(
    partition,
    hashes.map((hash) => keyRecords.uniqueKey(byHash(hash)))
  )
  // A key has several hashes.
  const matches = new Map(found.flatMap((match) => (match === undefined ? [] : [[match.record.key, match]])))
  const orphans = yield* Effect.filter(matches.values(), isOrphan)
  const entries = yield* Effect.forEach(orphans, ({ record }) => keyRecords.decode(record))
  yield* store.commit(partition, entries.map(keyRecords.remove))
})

/**
 * Runs a commit that writes keys with these hashes. If a hash is taken, it may be by a key whose consumer was removed: removes
 * those that the job has not removed meanwhile, and tries once more.
 */
export const afterOrphans = <A, E, R>(
  partition: Partition.Partition,
  hashes: ReadonlyArray<string>,
  commit: Effect.Effect<A, E, R>
) =>
  Effect.catchIf(
    commit,
    (error) => error instanceof StoreConflict && error.reason === "unique-key",
    () => Effect.andThen(retryOnConflict(removeOrphansOf(partition, hashes)), commit)
  )
