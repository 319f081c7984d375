/**
 * A metering bucket: the container of plans, subscriptions and usage counters. It belongs to one account.
 */
import { Schema } from "effect"
import { Id } from "../crypto/Id.ts"
import { AccountName } from "../schema/Names.ts"
import { Timestamp } from "../schema/Timestamp.ts"

export const MeteringBucketId = Id("bckt").pipe(Schema.brand("MeteringBucketId"))
export type MeteringBucketId = typeof MeteringBucketId.Type

export const MeteringBucket = Schema.Struct({
  id: MeteringBucketId,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  accountName: AccountName
}).annotate({ identifier: "MeteringBucket" })
export type MeteringBucket = typeof MeteringBucket.Type

/** `accountName` defaults to the caller's account. A caller with access to all accounts must set it. */
export const MeteringBucketCreate = Schema.Struct({ accountName: Schema.optionalKey(AccountName) }).annotate({
  identifier: "MeteringBucketCreate"
})
export type MeteringBucketCreate = typeof MeteringBucketCreate.Type

export class MeteringBucketNotFound extends Schema.TaggedError<MeteringBucketNotFound>()("MeteringBucketNotFound", {
  bucketId: Schema.String
}) {
  override get message(): string {
    return `Metering bucket "${this.bucketId}" does not exist`
  }
}
