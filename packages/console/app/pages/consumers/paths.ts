/** Where the items of these pages are: in the HTTP API and in the console. */
import { toPath } from "@tollgate/ui/api/request.ts"
import { type LinkQuery, linkTo } from "../../routing/router.ts"

export interface BucketParams {
  readonly account: string
  readonly bucket: string
}

export interface ConsumerParams extends BucketParams {
  readonly consumer: string
}

export const toBucketPath = ({ account, bucket }: BucketParams): string =>
  toPath("/v1/accounts", account, "key-buckets", bucket)

export const toConsumerPath = (params: ConsumerParams): string =>
  toPath(`${toBucketPath(params)}/consumers`, params.consumer)

/** The list of key buckets, even if there is only one. */
export const linkToBuckets = (account: string): string => linkTo(["accounts", account, "consumers"], { all: 1 })

export const linkToBucket = ({ account, bucket }: BucketParams): string =>
  linkTo(["accounts", account, "consumers", bucket])

export const linkToConsumer = ({ account, bucket, consumer }: ConsumerParams, query: LinkQuery = {}): string =>
  linkTo(["accounts", account, "consumers", bucket, consumer], query)

export const linkToRefusals = ({ account, bucket }: BucketParams, query: LinkQuery = {}): string =>
  linkTo(["accounts", account, "refusals", bucket], query)

/** Finds the events of a consumer and its keys. */
export const toEventFilter = ({ bucket, consumer }: ConsumerParams) => ({
  keyBucketName: bucket,
  consumerName: consumer
})

export const linkToEvents = (account: string, subject: string): string =>
  linkTo(["accounts", account, "events"], { subject })
