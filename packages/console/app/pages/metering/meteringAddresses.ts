/** The paths of the API and the links of the console for what is in a metering bucket. */
import { toPath } from "@tollgate/ui/api/request.ts"
import { type LinkQuery, linkTo } from "../../routing/router.ts"

export const toBucketPath = (bucket: string): string => toPath("/v1/metering", bucket)

export const toPlanPath = (bucket: string, plan: string): string => toPath("/v1/metering", bucket, "plans", plan)

export const toSubscriptionPath = (bucket: string, subscription: string): string =>
  toPath("/v1/metering", bucket, "subscriptions", subscription)

export const toCustomerPath = (bucket: string, customerKey: string): string =>
  toPath("/v1/metering", bucket, "customers", customerKey)

/** The list of metering buckets, even if there is only one. */
export const linkToBuckets = (account: string): string => linkTo(["accounts", account, "metering"], { all: 1 })

export const linkToBucket = (account: string, bucket: string, query?: LinkQuery): string =>
  linkTo(["accounts", account, "metering", bucket], query)

export const linkToPlan = (account: string, bucket: string, plan: string): string =>
  linkTo(["accounts", account, "metering", bucket, "plans", plan])

export const linkToSubscription = (account: string, bucket: string, subscription: string): string =>
  linkTo(["accounts", account, "metering", bucket, "subscriptions", subscription])

/** The pages above those of plans and subscriptions. */
export const getParents = (account: string, bucket: string, tab: "plans" | "subscriptions", tabLabel: string) => [
  { label: "Plans and usage", link: linkToBuckets(account) },
  { label: tabLabel, link: linkToBucket(account, bucket, { tab }) }
]
