/**
 * Finds consumers and keys in the key buckets of an account.
 */
import { Partition } from "@tollgate/store/internal"
import { Effect } from "effect"
import { type FoundConsumer, findConsumers } from "../consumers/searchConsumers.ts"
import { byAccount, keyBucketRecords } from "../keys/keyBucketRecords.ts"
import type { SearchItem, SearchSource } from "./SearchSource.ts"
import { maxBuckets, searchBuckets } from "./searchBounds.ts"

const toItem = (keyBucketName: string, { consumer, key, matched, isExact }: FoundConsumer): SearchItem => {
  const { id, name } = consumer
  const item = { name, keyBucketName, matched, isExact }
  return key === undefined
    ? { permission: "consumers:read", type: "consumer", id, ...item }
    : { permission: "keys:read", type: "key", id: key.id, ...item }
}

export const searchKeyBuckets: SearchSource = Effect.fnUntraced(function* ({ accountName, text, limit, maySee }) {
  const mayReadKeys = maySee("keys:read")
  if (!mayReadKeys && !maySee("consumers:read")) return []
  const buckets = yield* keyBucketRecords.page(Partition.keysDirectory, {
    where: [byAccount(accountName)],
    offset: 0,
    limit: maxBuckets,
    descending: true
  })
  const found = yield* searchBuckets(buckets.entries, ({ value }) =>
    Effect.map(findConsumers(value, text, limit, mayReadKeys), (consumers) =>
      consumers.map((consumer) => toItem(value.bucketName, consumer))
    )
  )
  return found.flat().toSorted((left, right) => Number(right.isExact) - Number(left.isExact))
})
