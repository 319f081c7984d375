/**
 * The directory of key buckets.
 */

import { Collection, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { KeyBucket } from "../records/KeyBucket.ts"

const ListedKeyBucket = Schema.Struct({ ...KeyBucket.fields, createdOn: Timestamp })

export const byAccount = (accountName: string): string => `account:${accountName}`

export const keyBucketRecords = Collection.make({
  name: "bucket",
  format: 1,
  schema: ListedKeyBucket,
  key: ({ accountName, bucketName }) => `${accountName}/${bucketName}`,
  indexTerms: ({ accountName }) => [byAccount(accountName)]
})
