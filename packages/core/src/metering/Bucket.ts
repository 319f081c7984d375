/**
 * A metering bucket: what plans, subscriptions and usage are kept in. It belongs to one account.
 */
import { Schema } from "effect"
import { Id } from "../shared/Id.ts"
import { AccountName } from "../shared/Names.ts"
import { Timestamp } from "../shared/Timestamp.ts"

export const BucketId = Id("bckt").pipe(Schema.brand("BucketId"))
export type BucketId = typeof BucketId.Type

export const Bucket = Schema.Struct({
  id: BucketId,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  accountName: AccountName
}).annotate({ identifier: "MeteringBucket" })
export type Bucket = typeof Bucket.Type

/** The account is the caller's; a caller for all accounts names it. */
export const BucketCreate = Schema.Struct({ accountName: Schema.optionalKey(AccountName) }).annotate({
  identifier: "MeteringBucketCreate"
})
export type BucketCreate = typeof BucketCreate.Type

export class BucketNotFound extends Schema.TaggedError<BucketNotFound>()("BucketNotFound", {
  bucketId: Schema.String
}) {
  override get message(): string {
    return `There is no metering bucket "${this.bucketId}" here`
  }
}
