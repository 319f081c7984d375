/**
 * Finds customers, subscriptions and plans in the metering buckets of an account.
 */
import { type Found, makeSearchPart, Partition, searchParts } from "@tollgate/store/internal"
import { Effect } from "effect"
import { customersPart } from "../metering/model/customerRecords.ts"
import { byAccount, directoryRecords } from "../metering/model/meteringDirectoryRecords.ts"
import type { StoredPlan } from "../metering/model/Plan.ts"
import { getPlanSearchFields, planRecords } from "../metering/model/planRecords.ts"
import type { StoredSubscription } from "../metering/model/Subscription.ts"
import { getSubscriptionSearchFields, subscriptionRecords } from "../metering/model/subscriptionRecords.ts"
import type { SearchItem, SearchSource } from "./SearchSource.ts"
import { maxBuckets, searchBuckets } from "./searchBounds.ts"

const permission = "metering:read"

const toCustomerItem = (meteringBucketId: string, customerKey: string, isExact: boolean): SearchItem => ({
  permission,
  type: "customer",
  id: customerKey,
  meteringBucketId,
  matched: "customerKey",
  isExact
})

const toSubscriptionItem = (
  meteringBucketId: string,
  { value, matched, isExact }: Found<StoredSubscription>
): SearchItem => ({
  permission,
  type: "subscription",
  id: value.id,
  name: value.subscriptionExternalId,
  meteringBucketId,
  matched,
  isExact
})

const toPlanItem = (meteringBucketId: string, { value, matched, isExact }: Found<StoredPlan>): SearchItem => ({
  permission,
  type: "plan",
  id: value.id,
  name: value.label,
  meteringBucketId,
  matched,
  isExact
})

export const searchMeteringBuckets: SearchSource = Effect.fnUntraced(function* ({ accountName, text, limit, maySee }) {
  if (!maySee(permission)) return []
  const buckets = yield* directoryRecords.page(Partition.meteringDirectory, {
    where: [byAccount(accountName)],
    offset: 0,
    limit: maxBuckets,
    descending: true
  })
  const found = yield* searchBuckets(
    buckets.entries.filter(({ value }) => !value.deleting),
    ({ value: { bucket } }) =>
      searchParts(Partition.forMeteringBucket(bucket.id), limit, [
        customersPart(text, (customerKey, isExact) => toCustomerItem(bucket.id, customerKey, isExact)),
        makeSearchPart(subscriptionRecords, {
          text,
          getFields: getSubscriptionSearchFields,
          toItem: (found) => toSubscriptionItem(bucket.id, found)
        }),
        makeSearchPart(planRecords, {
          text,
          getFields: getPlanSearchFields,
          toItem: (found) => toPlanItem(bucket.id, found)
        })
      ])
  )
  return found.flat()
})
