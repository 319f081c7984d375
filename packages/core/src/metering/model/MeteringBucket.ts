/**
 * A metering bucket: the container of plans, subscriptions and usage counters. It belongs to one account.
 */
import { Schema } from "effect"
import { Id } from "../../schema/Id.ts"
import { AccountName, pathName } from "../../schema/Names.ts"
import { Timestamp } from "../../schema/Timestamp.ts"

/** The id of a metering bucket. It begins with `bckt_`. */
export const MeteringBucketId = Id("bckt").pipe(Schema.brand("MeteringBucketId"))
export type MeteringBucketId = typeof MeteringBucketId.Type

/** The name of a metering bucket, which is unique in its account. */
export const MeteringBucketName = pathName.pipe(Schema.brand("MeteringBucketName"))
export type MeteringBucketName = typeof MeteringBucketName.Type

/** The fields that the caller sets, besides the account. Everything else that has them is derived from here. */
const inputFields = {
  /** Unique in the account. It never changes. */
  name: Schema.optionalKey(MeteringBucketName)
}

/** A metering bucket: holds plans, subscriptions and their usage. */
export const MeteringBucket = Schema.Struct({
  id: MeteringBucketId,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  accountName: AccountName,
  ...inputFields
}).annotate({ identifier: "MeteringBucket" })
export type MeteringBucket = typeof MeteringBucket.Type
/** A metering bucket, as plain JSON. */
export type MeteringBucketJson = typeof MeteringBucket.Encoded

/** `accountName` defaults to the caller's account. A caller with access to all accounts must set it. */
export const MeteringBucketCreate = Schema.Struct({
  accountName: Schema.optionalKey(AccountName),
  ...inputFields
}).annotate({ identifier: "MeteringBucketCreate" })
export type MeteringBucketCreate = typeof MeteringBucketCreate.Type
