/**
 * The collection of API keys. The folder `records` holds what `consumers/` and `keys/` share.
 */
import * as Collection from "../store/Collection.ts"
import { StoredKey } from "./ApiKey.ts"
import { consumerRecords } from "./consumerRecords.ts"

/** Index terms for all keys of a consumer (`of:`), and for its keys without an expiry (`open:`). Stored names. */
export const byConsumer = (consumer: string): string => `of:${consumer}`
export const withoutExpiryByConsumer = (consumer: string): string => `open:${consumer}`

export const byHash = (hash: string): string => `hash:${hash}`

/** Stores keys by id; unique by hash, indexed by consumer. */
export const keyRecords = Collection.make({
  name: "key",
  format: 1,
  schema: StoredKey,
  key: (key) => key.id,
  indexTerms: (key) => [
    byConsumer(key.consumer),
    ...(key.expiresOn === undefined ? [withoutExpiryByConsumer(key.consumer)] : [])
  ],
  uniqueKeys: (key) => key.hashes.map(byHash),
  parent: (key) => consumerRecords.recordKey(key.consumer)
})
