import * as Collection from "../store/Collection.ts"
import { StoredKey } from "./ApiKey.ts"
import { consumerRecords } from "./consumerRecords.ts"

/** Deleting a consumer and rolling its keys write all its keys in one commit, so their number is bounded. */
export const maxKeysPerConsumer = 10_000

/** Index terms for all keys of a consumer, and for its keys without an expiry. */
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
