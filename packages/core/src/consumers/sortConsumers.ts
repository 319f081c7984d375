/**
 * Pages of consumers in the order of their names.
 */
import { type Entry, maxPageBytes, Store } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { StoredConsumer } from "../records/Consumer.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { byName } from "../records/consumerSearch.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"

/** How many records one call reads: a page ends when they have a certain size. */
const batchSize = 100

/** The consumers after the one with this name, which need not exist any more, and the name at which the next page begins. */
export const readByName = Effect.fnUntraced(function* (bucket: KeyBucket, limit: number, after: string | undefined) {
  const partition = getKeyBucketPartition(bucket)
  const store = yield* Store
  const prefix = consumerRecords.searchTerm(byName(""))
  const query = { prefix, limit: limit + 1, ...(after === undefined ? {} : { after: prefix + after }) }
  const [[matches = []], { total }] = yield* Effect.all([
    store.search(partition, [query]),
    consumerRecords.page(partition, { offset: 0, limit: 0 })
  ])
  const keys = matches.slice(0, limit).map(({ key }) => key)
  const entries: Array<Entry<StoredConsumer>> = []
  let [read, bytes] = [0, 0]
  while (read < keys.length && bytes < maxPageBytes) {
    const batch = keys.slice(read, read + batchSize)
    for (const record of yield* store.get(partition, batch)) {
      if (record === undefined) continue
      entries.push(yield* consumerRecords.decode(record))
      bytes += record.body.length
    }
    read += batch.length
  }
  const next = read < matches.length ? matches[read - 1]?.term.slice(prefix.length) : undefined
  return { entries, total, next }
})
