/**
 * The directory of metering buckets.
 */
import { Schema } from "effect"
import * as Collection from "../../store/Collection.ts"
import { MeteringBucket } from "./MeteringBucket.ts"

/** `deleting`, the collection `listing` and the index terms are stored names and cannot change. */
const DirectoryEntry = Schema.Struct({
  bucket: MeteringBucket,
  deleting: Schema.Boolean,
  /** Whether the bucket ever had a reservation. */
  reserves: Schema.optionalKey(Schema.Boolean),
  /** Whether the bucket ever had a subscription on trial. */
  trials: Schema.optionalKey(Schema.Boolean)
})

/** The index term of buckets whose removal has started. */
export const pendingRemovalTerm = "deleting"
/** The index term of buckets that ever had a reservation. */
export const reservesTerm = "reserves"
/** The index term of buckets that ever had a subscription on trial. */
export const trialsTerm = "trials"
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
  indexTerms: ({ bucket, deleting, reserves, trials }) => [
    byAccount(bucket.accountName),
    ...(bucket.name === undefined ? [] : [withName(bucket.name)]),
    ...(deleting ? [pendingRemovalTerm] : []),
    ...(reserves === true ? [reservesTerm] : []),
    ...(trials === true ? [trialsTerm] : [])
  ]
})
