/**
 * The address of a key bucket: whose it is, and what it is called.
 */
import { Schema } from "effect"
import * as Partition from "../store/Partition.ts"
import { AccountName, BucketName } from "./Names.ts"

export const KeyBucket = Schema.Struct({ accountName: AccountName, bucketName: BucketName })
export type KeyBucket = typeof KeyBucket.Type

const known = new Map<string, Partition.Partition>()

/** The partition of a bucket. Encoding its name costs as much as the rest of a look-up, so it is done once. */
export const partitionOf = ({ accountName, bucketName }: KeyBucket): Partition.Partition => {
  // Neither name has a slash in it.
  const name = `${accountName}/${bucketName}`
  const partition = known.get(name) ?? Partition.keys(accountName, bucketName)
  if (known.size >= 10_000) known.clear()
  known.set(name, partition)
  return partition
}
