/**
 * Finds consumers by a text, and by their keys. At most two store calls, whatever there is in the bucket: one that reads the
 * search terms, and one that reads the records.
 */
import {
  decodeFound,
  type Entry,
  maxSearchMatches,
  normalizeSearch,
  type RecordUnreadable,
  rankMatches,
  Store,
  type StoreUnavailable,
  toSearchPrefix
} from "@tollgate/store/internal"
import { Effect, Option, Schema } from "effect"
import { KeyId, type StoredKey } from "../records/ApiKey.ts"
import type { StoredConsumer } from "../records/Consumer.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { bySuffix, consumerSearchRanges, getConsumerSearchFields, isSuffix } from "../records/consumerSearch.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { keyRecords } from "../records/keyRecords.ts"

/** A consumer, and the field by which it was found: its own, or one of a key. */
export interface FoundConsumer {
  readonly consumer: StoredConsumer
  readonly matched: string
  readonly isExact: boolean
  readonly key?: StoredKey
}

const isKeyId = Schema.is(KeyId)

/** A consumer that was removed and created again has other keys. */
const toFoundByKey = (
  { value: consumer }: Entry<StoredConsumer>,
  key: StoredKey,
  matched: string
): ReadonlyArray<FoundConsumer> => (consumer.id === key.consumerId ? [{ consumer, key, matched, isExact: true }] : [])

/** The key with this id, and its consumer. */
const findByKeyId = Effect.fnUntraced(function* (bucket: KeyBucket, keyId: string) {
  const partition = getKeyBucketPartition(bucket)
  const found = yield* keyRecords.get(partition, keyId)
  if (Option.isNone(found)) return []
  const key = found.value.value
  const consumer = yield* consumerRecords.get(partition, key.consumer)
  return Option.isSome(consumer) ? toFoundByKey(consumer.value, key, "id") : []
})

const findByText = Effect.fnUntraced(function* (bucket: KeyBucket, text: string, limit: number, withKeys: boolean) {
  const partition = getKeyBucketPartition(bucket)
  const store = yield* Store
  const normalized = normalizeSearch(text)
  const prefixes = consumerSearchRanges.map((range) =>
    consumerRecords.searchTerm(toSearchPrefix(normalized, { range }))
  )
  const isAboutKeys = withKeys && isSuffix(text)
  const matches = yield* store.search(partition, [
    ...prefixes.map((prefix) => ({ prefix, limit: maxSearchMatches })),
    ...(isAboutKeys ? [{ prefix: keyRecords.searchTerm(bySuffix(text)), limit }] : [])
  ])
  const consumerKeys = rankMatches(prefixes, matches, limit)
  const ofKeys = matches[prefixes.length] ?? []
  const recordKeys = [
    ...consumerKeys,
    ...ofKeys.flatMap(({ key, parent }) => (parent === undefined ? [] : [key, parent]))
  ]
  const records = recordKeys.length === 0 ? [] : yield* store.get(partition, recordKeys)

  const byText = yield* decodeFound(
    consumerRecords,
    records.slice(0, consumerKeys.length),
    normalized,
    getConsumerSearchFields
  )
  const byKey: Array<FoundConsumer> = []
  for (let index = consumerKeys.length; index < records.length; index += 2) {
    const [key, consumer] = [records[index], records[index + 1]]
    if (key === undefined || consumer === undefined) continue
    const { value } = yield* keyRecords.decode(key)
    byKey.push(...toFoundByKey(yield* consumerRecords.decode(consumer), value, "suffix"))
  }
  const found = byText.map(({ value: consumer, ...match }): FoundConsumer => ({ consumer, ...match }))
  return [...found.filter(({ isExact }) => isExact), ...byKey, ...found.filter(({ isExact }) => !isExact)]
})

/** The consumers that a text finds, the best first. `withKeys`: also by the id and by the end of a key, which must be exact. */
export const findConsumers = Effect.fnUntraced(function* (
  bucket: KeyBucket,
  text: string,
  limit: number,
  withKeys: boolean
): Effect.fn.Return<ReadonlyArray<FoundConsumer>, StoreUnavailable | RecordUnreadable, Store> {
  if (!isKeyId(text)) return yield* findByText(bucket, text, limit, withKeys)
  return withKeys ? yield* findByKeyId(bucket, text) : []
})
