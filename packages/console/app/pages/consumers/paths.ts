/** Where the items of these pages are: in the HTTP API and in the console. */
import { toPath } from "../../api/request.ts"
import { linkTo } from "../../routing/router.ts"

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

export const linkToBuckets = (account: string): string => linkTo(["accounts", account, "consumers"])

export const linkToBucket = ({ account, bucket }: BucketParams): string =>
  linkTo(["accounts", account, "consumers", bucket])

export const linkToConsumer = ({ account, bucket, consumer }: ConsumerParams): string =>
  linkTo(["accounts", account, "consumers", bucket, consumer])

export const linkToEvents = (account: string, subject: string): string =>
  linkTo(["accounts", account, "events"], { subject })
