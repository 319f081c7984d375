/** The subscriptions of a consumer in the metering buckets of its account, with their quotas and usage. */
import { get, toPath } from "@tollgate/ui/api/request.ts"
import type { PlotProps } from "@tollgate/ui/components/Plot.tsx"
import type { MeteringBucketJson, PageJson, QuotasJson, SubscriptionJson, UsageSeriesJson } from "../../api/types.ts"

/** How many metering buckets are read, and how many subscriptions of each. */
const maxBuckets = 100
export const maxSubscriptions = 20

export interface SubscriptionUsage {
  readonly subscription: SubscriptionJson
  readonly quotas: QuotasJson
  readonly usage: UsageSeriesJson
}

export interface BucketUsage {
  readonly bucket: MeteringBucketJson
  readonly total: number
  readonly subscriptions: ReadonlyArray<SubscriptionUsage>
}

const loadBucket = async (
  bucket: MeteringBucketJson,
  customerKey: string,
  signal: AbortSignal
): Promise<BucketUsage> => {
  const root = toPath("/v1/metering", bucket.id, "subscriptions")
  const page = await get<PageJson<SubscriptionJson>>(root, { customerKey, limit: maxSubscriptions }, signal)
  const subscriptions = await Promise.all(
    page.data.map(async (subscription) => {
      const path = toPath(root, subscription.id)
      const [quotas, usage] = await Promise.all([
        get<QuotasJson>(`${path}/quotas`, {}, signal),
        get<UsageSeriesJson>(`${path}/usage`, { step: "day" }, signal)
      ])
      return { subscription, quotas, usage }
    })
  )
  return { bucket, total: page.total, subscriptions }
}

/** Metering buckets without a subscription of the consumer are left out. */
export const loadUsage = async (
  account: string,
  customerKey: string,
  signal: AbortSignal
): Promise<ReadonlyArray<BucketUsage>> => {
  const query = { accountName: account, limit: maxBuckets }
  const { data } = await get<PageJson<MeteringBucketJson>>("/v1/metering", query, signal)
  const buckets = await Promise.all(data.map((bucket) => loadBucket(bucket, customerKey, signal)))
  return buckets.filter(({ total }) => total > 0)
}

/** The usage of several subscriptions as one series per meter. */
export const addUsage = (all: ReadonlyArray<UsageSeriesJson>): Pick<PlotProps, "times" | "series"> => {
  const steps = new Map<string, Map<string, number>>()
  const meters = new Set<string>()
  for (const { start, meters: amounts } of all.flatMap(({ data }) => data)) {
    const step = steps.get(start) ?? new Map<string, number>()
    steps.set(start, step)
    for (const [meter, amount] of Object.entries(amounts)) {
      meters.add(meter)
      step.set(meter, (step.get(meter) ?? 0) + amount)
    }
  }
  const times = [...steps.keys()].sort()
  const series = [...meters]
    .sort()
    .map((name) => ({ name, values: times.map((time) => steps.get(time)?.get(name) ?? 0) }))
  return { times, series }
}
