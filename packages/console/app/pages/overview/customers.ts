/** What the customers of an account use in their present periods: who uses most, and who is near the end of a quota. */
import { get, toPath } from "@tollgate/ui/api/request.ts"
import type { ListedSubscriptionJson, PageJson, TopCustomersJson } from "../../api/types.ts"
import { getShare, type QuotaJson } from "../../components/quotas.ts"
import { linkTo } from "../../routing/router.ts"
import type { MeteringBucketCount } from "./inventory.ts"

/** How many subscriptions of each bucket are read: the oldest. */
const [pageSize, maxPages] = [100, 10]

export interface MeterOfCustomer {
  readonly id: string
  readonly customerKey: string
  readonly plan: string
  readonly meter: string
  readonly quota: QuotaJson
  readonly share: number
  /** Empty if the quota never resets. */
  readonly resetsOn: string
  readonly link: string
}

export interface Trial {
  readonly id: string
  readonly customerKey: string
  readonly plan: string
  readonly endsOn: string
  readonly link: string
}

export interface CustomerUse {
  /** The trials that end first. */
  readonly trials: ReadonlyArray<Trial>
  readonly meters: ReadonlyArray<MeterOfCustomer>
  /** Whether there are more subscriptions than were read. */
  readonly isPartial: boolean
}

const isServed = ({ status }: ListedSubscriptionJson): boolean => ["active", "trialing", "past-due"].includes(status)

const toMeters = (
  account: string,
  bucket: string,
  { id, customerKey, planExternalIds, usage }: ListedSubscriptionJson
): ReadonlyArray<MeterOfCustomer> =>
  Object.entries(usage?.meters ?? {}).map(([meter, quota]) => ({
    id: `${id} ${meter}`,
    customerKey,
    plan: planExternalIds.join(", "),
    meter,
    quota,
    share: getShare(quota),
    resetsOn: (quota.periodStart === undefined ? usage?.resetsOn : quota.resetsOn) ?? "",
    link: linkTo(["accounts", account, "metering", bucket, "subscriptions", id])
  }))

export const loadCustomerUse = async (
  account: string,
  buckets: ReadonlyArray<MeteringBucketCount>,
  signal: AbortSignal
): Promise<CustomerUse> => {
  let isPartial = false
  const trials: Array<Trial> = []
  const loadBucket = async ({ id }: MeteringBucketCount): Promise<ReadonlyArray<MeterOfCustomer>> => {
    const path = toPath("/v1/metering", id, "subscriptions")
    const found: Array<ListedSubscriptionJson> = []
    let after: string | undefined
    for (let page = 0; page < maxPages; page++) {
      const { data, next } = await get<PageJson<ListedSubscriptionJson>>(
        path,
        { include: "usage", limit: pageSize, after },
        signal
      )
      found.push(...data)
      after = next
      if (next === undefined) break
    }
    isPartial ||= after !== undefined
    for (const { id: subscription, status, trialEndDate, customerKey, planExternalIds } of found)
      if (status === "trialing" && trialEndDate !== undefined)
        trials.push({
          id: subscription,
          customerKey,
          plan: planExternalIds.join(", "),
          endsOn: trialEndDate,
          link: linkTo(["accounts", account, "metering", id, "subscriptions", subscription])
        })
    return found.filter(isServed).flatMap((subscription) => toMeters(account, id, subscription))
  }
  const meters = (await Promise.all(buckets.filter(({ subscriptions }) => subscriptions > 0).map(loadBucket))).flat()
  return { meters, isPartial, trials: trials.sort((a, b) => Date.parse(a.endsOn) - Date.parse(b.endsOn)) }
}

export interface TopCustomer {
  readonly bucket: string
  readonly customerKey: string
  readonly used: number
}

/** The customers of all buckets that used most of a meter this month. */
export const loadTop = async (
  buckets: ReadonlyArray<MeteringBucketCount>,
  meter: string,
  signal: AbortSignal
): Promise<ReadonlyArray<TopCustomer>> => {
  const found = await Promise.all(
    buckets
      .filter(({ subscriptions }) => subscriptions > 0)
      .map(async ({ id: bucket }) => {
        const { data } = await get<TopCustomersJson>(toPath("/v1/metering", bucket, "usage", "top"), { meter }, signal)
        return data.map(({ customerKey, used }) => ({ bucket, customerKey, used }))
      })
  )
  return found.flat().sort((a, b) => b.used - a.used)
}
