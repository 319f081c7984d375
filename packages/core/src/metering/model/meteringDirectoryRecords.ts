/**
 * The directory of metering buckets.
 */

import { Collection } from "@tollgate/store/internal"
import { Schema } from "effect"
import { MeteringBucket } from "./MeteringBucket.ts"

/** `deleting`, the collection `listing` and the index terms are stored names and cannot change. */
const DirectoryEntry = Schema.Struct({
  bucket: MeteringBucket,
  deleting: Schema.Boolean
})

/** The index term of buckets whose removal has started. */
export const pendingRemovalTerm = "deleting"
export const withName = (name: string): string => `name:${name}`
export const byAccount = (accountName: string): string => `account:${accountName}`
/** Neither name may contain a slash. */
const byName = (accountName: string, name: string): string => `name:${accountName}/${name}`

/** Lists all buckets, indexed by account and by pending removal. */
export const directoryRecords = Collection.make({
  name: "listing",
  format: 1,
  schema: DirectoryEntry,
  key: ({ bucket }) => bucket.id,
  uniqueKeys: ({ bucket: { accountName, name } }) => (name === undefined ? [] : [byName(accountName, name)]),
  indexTerms: ({ bucket, deleting }) => [
    byAccount(bucket.accountName),
    ...(bucket.name === undefined ? [] : [withName(bucket.name)]),
    ...(deleting ? [pendingRemovalTerm] : [])
  ]
})
