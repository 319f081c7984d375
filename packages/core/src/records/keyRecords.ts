/**
 * The collection of API keys. The folder `records` holds what `consumers/` and `keys/` share.
 */
import { Collection, makeTimeIndex } from "@tollgate/store/internal"
import { StoredKey } from "./ApiKey.ts"
import { consumerRecords } from "./consumerRecords.ts"
import { getKeySearchTerms } from "./consumerSearch.ts"

/** Index terms for all keys of a consumer (`of:`), and for its keys without an expiry (`open:`). Stored names. */
export const byConsumer = (consumerId: string): string => `of:${consumerId}`
export const withoutExpiryByConsumer = (consumerId: string): string => `open:${consumerId}`

/** Finds keys by the hour in which they expire. */
export const expiryIndex = makeTimeIndex("expires", "hour")

export const byHash = (hash: string): string => `hash:${hash}`

/** Stores keys by id; unique by hash, indexed by consumer and by expiry, found by the end of their values. */
export const keyRecords = Collection.make({
  name: "key",
  format: 1,
  schema: StoredKey,
  key: (key) => key.id,
  indexTerms: (key) => [
    byConsumer(key.consumerId),
    ...(key.expiresOn === undefined ? [withoutExpiryByConsumer(key.consumerId)] : expiryIndex.terms(key.expiresOn))
  ],
  searchTerms: getKeySearchTerms,
  uniqueKeys: (key) => key.hashes.map(byHash),
  parent: (key) => consumerRecords.recordKey(key.consumer)
})

/** Before a hash, it is the unique key in the store by which a key is found. */
export const hashPrefix = keyRecords.uniqueKey(byHash(""))
