/**
 * A metering bucket: the container of plans, subscriptions and usage counters. It belongs to one account.
 */

import { AccountName, Id, pathName, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"

/** The id of a metering bucket. It begins with `bckt_`. */
export const MeteringBucketId = Id("bckt").pipe(Schema.brand("MeteringBucketId"))
export type MeteringBucketId = typeof MeteringBucketId.Type

/** The name of a metering bucket, which is unique in its account. */
export const MeteringBucketName = pathName.pipe(Schema.brand("MeteringBucketName"))
export type MeteringBucketName = typeof MeteringBucketName.Type

/** Whether a text begins like an id. Then it cannot be a name, so that both can stand in one place. */
export const isLikeId = (text: string): boolean => text.startsWith("bckt_")

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
  name: Schema.optionalKey(
    MeteringBucketName.pipe(
      Schema.check(
        Schema.makeFilter((name: string) => (isLikeId(name) ? 'must not begin with "bckt_", as ids do' : undefined))
      )
    )
  )
}).annotate({ identifier: "MeteringBucketCreate" })
export type MeteringBucketCreate = typeof MeteringBucketCreate.Type
