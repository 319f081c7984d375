/**
 * Converts stored consumers for the caller, with as many of their keys as a response may have.
 */
import { Effect } from "effect"
import type { makeToApiKeys } from "../keys/keyResults.ts"
import { applyRolls } from "../keys/rolls.ts"
import type { KeyVisibility } from "../records/ApiKey.ts"
import { assertNotRolled } from "../records/assertNotRolled.ts"
import type { Consumer, StoredConsumer } from "../records/Consumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { byConsumer, keyRecords } from "../records/keyRecords.ts"

/** Optional parts of a returned consumer. */
interface ConsumerInclude {
  readonly apiKeys?: boolean | undefined
  readonly managers?: boolean | undefined
  readonly managerInvites?: boolean | undefined
  readonly keyFormat?: KeyVisibility | undefined
}

/** Maximum numbers of keys embedded with `apiKeys: true`: in one consumer, in each consumer of a list, and in a whole list. */
const maxKeysInOneConsumer = 1_000
export const maxKeysPerListedConsumer = 100
const maxKeysInList = 1_000

export const toConsumer = (
  { managers, managerInvites, rolls: _, revision: __, ...fields }: StoredConsumer,
  include: ConsumerInclude
): Consumer => ({
  ...fields,
  ...(include.managers === true ? { managers } : {}),
  ...(include.managerInvites === true ? { managerInvites } : {})
})

export const makeToConsumers = (toApiKeys: ReturnType<typeof makeToApiKeys>) => {
  /**
   * Converts stored consumers for the caller. Reads the keys of all of them in one store call. Fails with a `StoreConflict` if
   * the consumers must be read again.
   */
  const toConsumers = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    consumers: ReadonlyArray<StoredConsumer>,
    include: ConsumerInclude,
    maxKeysEach: number
  ) {
    const results = consumers.map((consumer) => toConsumer(consumer, include))
    if (include.apiKeys !== true || consumers.length === 0) return results
    const limits = yield* limitEmbeddedKeys(bucket, consumers, maxKeysEach)
    const pages = yield* keyRecords.pages(
      getKeyBucketPartition(bucket),
      limits.map(({ id, limit }) => ({ where: [byConsumer(id)], offset: 0, limit }))
    )
    yield* assertNotRolled(getKeyBucketPartition(bucket), consumers.slice(0, limits.length))
    const stored = pages.map(({ entries }, index) => entries.map((entry) => applyRolls(consumers[index] ?? {}, entry)))
    const apiKeys = yield* toApiKeys(bucket, stored.flat(), include.keyFormat)
    return results.map((consumer, index): Consumer => {
      const keys = stored[index]
      return keys === undefined ? consumer : { ...consumer, apiKeys: apiKeys.splice(0, keys.length) }
    })
  })

  /**
   * Decides how many keys to embed in each consumer. Stops at the first consumer whose keys would exceed the limit of
   * the list; that consumer and the ones after it are returned without keys.
   */
  const limitEmbeddedKeys = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    consumers: ReadonlyArray<StoredConsumer>,
    maxKeysEach: number
  ) {
    if (consumers.length === 1) return consumers.map(({ id }) => ({ id, limit: maxKeysEach }))
    const totals = yield* keyRecords.pages(
      getKeyBucketPartition(bucket),
      consumers.map(({ id }) => ({ where: [byConsumer(id)], offset: 0, limit: 0 }))
    )
    const limits: Array<{ readonly id: string; readonly limit: number }> = []
    let remaining = maxKeysInList
    for (const [index, { id }] of consumers.entries()) {
      const limit = Math.min(totals[index]?.total ?? 0, maxKeysEach)
      if (limit > remaining) break
      limits.push({ id, limit })
      remaining -= limit
    }
    return limits
  })

  const toSingleConsumer = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    consumer: StoredConsumer,
    include: ConsumerInclude
  ) {
    const [result = toConsumer(consumer, include)] = yield* toConsumers(
      bucket,
      [consumer],
      include,
      maxKeysInOneConsumer
    )
    return result
  })

  return { toConsumers, toSingleConsumer }
}
