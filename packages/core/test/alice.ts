/**
 * A key bucket and a consumer, for tests of API keys.
 */
import { AccountName, ConsumerName, KeyBucketName } from "@tollgate/core/effect"
import { Partition } from "@tollgate/store"

export const bucket = { accountName: AccountName.make("acme"), bucketName: KeyBucketName.make("production") }
export const partition = Partition.forKeyBucket("acme", "production")
export const alice = ConsumerName.make("alice")
export const ofAlice = { ...bucket, consumerName: alice }
