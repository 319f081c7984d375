/**
 * Identifies a key bucket by its account and its name.
 */
import { Schema } from "effect"
import { AccountName, KeyBucketName } from "../schema/Names.ts"

export const KeyBucket = Schema.Struct({ accountName: AccountName, bucketName: KeyBucketName })
export type KeyBucket = typeof KeyBucket.Type
