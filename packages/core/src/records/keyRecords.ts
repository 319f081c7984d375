import * as Collection from "../store/Collection.ts"
import { StoredKey } from "./ApiKey.ts"
import { consumerRecords } from "./consumerRecords.ts"

/** A consumer's delete and roll are one commit each, and a commit has its size. */
export const maximumKeys = 10_000

/** All keys of a consumer, and those of them that have no expiry. */
export const byConsumer = (consumer: string): string => `of:${consumer}`
export const withoutExpiryByConsumer = (consumer: string): string => `open:${consumer}`

export const byHash = (hash: string): string => `hash:${hash}`

/** How keys are stored: by id, found by their hashes, listed by their consumer. */
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
