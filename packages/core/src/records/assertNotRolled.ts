import { type Partition, Store, StoreConflict } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { StoredConsumer } from "./Consumer.ts"
import { consumerRecords } from "./consumerRecords.ts"

/**
 * Fails with a stale `StoreConflict` if one of the consumers was rolled or removed since it was read. Jobs write that to
 * some keys after the others, so keys that were read after the consumer may be neither as before it nor as after it.
 */
export const assertNotRolled = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  consumers: ReadonlyArray<StoredConsumer>
) {
  const store = yield* Store
  const recordKeys = consumers.map(({ name }) => consumerRecords.recordKey(name))
  const records = yield* store.get(partition, recordKeys)
  for (const [index, { id, rolls }] of consumers.entries()) {
    const record = records[index]
    const current = record === undefined ? undefined : (yield* consumerRecords.decode(record)).value
    if (current?.id === id && current.rolls?.count === rolls?.count) continue
    return yield* new StoreConflict({ reason: "stale", subject: recordKeys[index] ?? "" })
  }
})
