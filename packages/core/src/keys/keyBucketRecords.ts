/**
 * The directory of key buckets.
 */
import { Effect, Option, Schema } from "effect"
import { makeReadDatedPage } from "../accounts/readDatedPage.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { Timestamp } from "../schema/Timestamp.ts"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"

/** Older versions of Tollgate wrote no date. */
const StoredKeyBucket = Schema.Struct({ ...KeyBucket.fields, createdOn: Schema.optionalKey(Timestamp) })

export const byAccount = (accountName: string): string => `account:${accountName}`

export const keyBucketRecords = Collection.make({
  name: "bucket",
  format: 1,
  schema: StoredKeyBucket,
  key: ({ accountName, bucketName }) => `${accountName}/${bucketName}`,
  indexTerms: ({ accountName }) => [byAccount(accountName)]
})

/** Reads a page of key buckets. */
export const readKeyBuckets = makeReadDatedPage(keyBucketRecords, Partition.keysDirectory, (bucket) =>
  Effect.map(consumerRecords.page(getKeyBucketPartition(bucket), { offset: 0, limit: 1 }), ({ entries: [oldest] }) =>
    Option.map(Option.fromNullishOr(oldest), ({ value }) => value.createdOn)
  )
)
