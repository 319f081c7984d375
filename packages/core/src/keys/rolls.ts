/**
 * Rolls of more keys than one commit changes. The consumer, which every check of a key reads with it, says that they are
 * rolled; a job writes it to the keys, in batches.
 */

import { type Entry, getRevision, keepRevision, type Partition, retryOnConflict, Store } from "@tollgate/store/internal"
import { type DateTime, Effect, Option, Stream } from "effect"
import type { StoredKey } from "../records/ApiKey.ts"
import type { StoredConsumer } from "../records/Consumer.ts"
import { consumerRecords, rollingTerm } from "../records/consumerRecords.ts"
import { keyRecords, withoutExpiryByConsumer } from "../records/keyRecords.ts"

/** Maximum keys that one commit changes. */
export const batchSize = 100

/** Maximum rolls of a consumer that are not written to its keys: every check of a key reads them. */
export const maxPendingRolls = 10

/**
 * The version that callers see of a rolled key is this plus the one before the roll, so that it is known before the roll is
 * written to the key and stays the same then. No record has such a version: stores count from 1.
 */
const rolledRevision = 10 ** 14

interface Roll<Time> {
  readonly upTo: number
  readonly expiresOn: Time
}

/** The first pending roll that applies to a key without an expiry. */
export const findRoll = <A extends Roll<unknown>>(
  pending: ReadonlyArray<A> | undefined,
  { roll = 0 }: { readonly roll?: number | undefined }
): A | undefined => pending?.find(({ upTo }) => roll < upTo)

/** What a roll changes in a key without an expiry. */
export const setExpiry = (expiresOn: DateTime.Utc, now: DateTime.Utc) => ({
  expiresOn,
  expirySetOn: now,
  updatedOn: now
})

/** The key as it is: with the expiry of a roll that is not yet written to it. */
export const applyRolls = ({ rolls }: Pick<StoredConsumer, "rolls">, entry: Entry<StoredKey>): StoredKey => {
  const { value: key } = entry
  if (key.expiresOn !== undefined) return key
  const roll = findRoll(rolls?.pending, key)
  if (roll === undefined) return key
  return { ...key, ...setExpiry(roll.expiresOn, roll.rolledOn), revision: rolledRevision + getRevision(entry) }
}

/** The number of rolls, for a key that is created or changed. */
export const rollNumber = ({ rolls }: Pick<StoredConsumer, "rolls">) =>
  rolls === undefined ? {} : { roll: rolls.count }

/** Writes the pending rolls of a consumer to its keys. */
export const finishRolls = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  { id, name, rolls }: StoredConsumer
) {
  const store = yield* Store
  if (rolls === undefined) return
  const where = [withoutExpiryByConsumer(id)]
  const writeNext = Effect.fnUntraced(function* (after: number | undefined) {
    const { entries, next } = yield* keyRecords.page(partition, { where, offset: 0, limit: batchSize, after })
    const changes = entries.flatMap((entry) => {
      const rolled = applyRolls({ rolls }, entry)
      return rolled === entry.value ? [] : [keyRecords.replace(entry, rolled)]
    })
    yield* store.commit(partition, changes)
    return next
  })
  /** Keeps the rolls that came after these. */
  const settle = Effect.gen(function* () {
    const found = yield* consumerRecords.get(partition, name)
    if (Option.isNone(found)) return
    const { value: current } = found.value
    if (current.id !== id || current.rolls === undefined) return
    const pending = current.rolls.pending.filter(({ upTo }) => upTo > rolls.count)
    const settled = keepRevision(found.value, { ...current, rolls: { ...current.rolls, pending } })
    yield* store.commit(partition, [consumerRecords.replace(found.value, settled)])
  })
  let after: number | undefined
  do {
    after = yield* retryOnConflict(writeNext(after))
    yield* Effect.yieldNow
  } while (after !== undefined)
  yield* retryOnConflict(settle)
})

/** Writes all pending rolls of a key bucket to the keys. */
export const finishAllRolls = (partition: Partition.Partition) =>
  consumerRecords.stream(partition, { where: [rollingTerm], pageSize: batchSize }).pipe(
    Stream.mapEffect(({ value }) => finishRolls(partition, value)),
    Stream.runCount,
    Effect.repeat({ while: (count) => count > 0 }),
    Effect.asVoid
  )
