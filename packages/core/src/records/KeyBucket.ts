/**
 * Identifies a key bucket by its account and its name.
 */
import { Schema } from "effect"
import { AccountName, KeyBucketName } from "../schema/Names.ts"
import * as Partition from "../store/Partition.ts"

export const KeyBucket = Schema.Struct({ accountName: AccountName, bucketName: KeyBucketName })
export type KeyBucket = typeof KeyBucket.Type

const partitions = new WeakMap<KeyBucket, Partition.Partition>()

/** The store partition of a bucket. Cached, because encoding the name takes as long as the rest of a lookup. */
export const getKeyBucketPartition = (bucket: KeyBucket): Partition.Partition => {
  const cached = partitions.get(bucket)
  if (cached !== undefined) return cached
  const partition = Partition.forKeyBucket(bucket.accountName, bucket.bucketName)
  partitions.set(bucket, partition)
  return partition
}
