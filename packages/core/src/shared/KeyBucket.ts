/**
 * The address of a key bucket: whose it is, and what it is called.
 */
import { Schema } from "effect"
import * as Partition from "../store/Partition.ts"
import { AccountName, BucketName } from "./Names.ts"

export const KeyBucket = Schema.Struct({ accountName: AccountName, bucketName: BucketName })
export type KeyBucket = typeof KeyBucket.Type

export const partitionOf = ({ accountName, bucketName }: KeyBucket): Partition.Partition =>
  Partition.keys(accountName, bucketName)
