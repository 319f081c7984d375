/**
 * Identifies a key bucket by its account and its name.
 */
import { Schema } from "effect"
import { AccountName, KeyBucketName } from "../schema/Names.ts"

/** Names a key bucket: its account, and its name in the account. */
export const KeyBucket = Schema.Struct({ accountName: AccountName, bucketName: KeyBucketName })
export type KeyBucket = typeof KeyBucket.Type
