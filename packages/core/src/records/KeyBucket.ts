/**
 * Identifies a key bucket by its account and its name.
 */

import { AccountName, KeyBucketName } from "@tollgate/store/internal"
import { Schema } from "effect"

/** Names a key bucket: its account, and its name in the account. */
export const KeyBucket = Schema.Struct({ accountName: AccountName, bucketName: KeyBucketName })
export type KeyBucket = typeof KeyBucket.Type
