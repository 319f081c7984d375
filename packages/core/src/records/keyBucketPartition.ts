import * as Partition from "../store/Partition.ts"
import type { KeyBucket } from "./KeyBucket.ts"

const partitions = new WeakMap<KeyBucket, Partition.Partition>()

/** The store partition of a bucket. Cached, because encoding the name takes as long as the rest of a lookup. */
export const getKeyBucketPartition = (bucket: KeyBucket): Partition.Partition => {
  const cached = partitions.get(bucket)
  if (cached !== undefined) return cached
  const partition = Partition.forKeyBucket(bucket.accountName, bucket.bucketName)
  partitions.set(bucket, partition)
  return partition
}
