/**
 * The address of a key bucket: whose it is, and what it is called.
 */
import { Schema } from "effect"
import { AccountName, KeyBucketName } from "../schema/Names.ts"
import * as Partition from "../store/Partition.ts"

export const KeyBucket = Schema.Struct({ accountName: AccountName, bucketName: KeyBucketName })
export type KeyBucket = typeof KeyBucket.Type

const known = new WeakMap<KeyBucket, Partition.Partition>()

/** The partition of a bucket. Encoding its name costs as much as the rest of a look-up, so it is done once. */
export const partitionOf = (bucket: KeyBucket): Partition.Partition => {
  const partition = known.get(bucket)
  if (partition !== undefined) return partition
  const made = Partition.keys(bucket.accountName, bucket.bucketName)
  known.set(bucket, made)
  return made
}
