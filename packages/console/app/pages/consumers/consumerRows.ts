/** What the list of consumers shows of each: with its plans, what it has used, and when it was last seen. */
import { get, toPath } from "@tollgate/ui/api/request.ts"
import { forEachOf } from "@tollgate/ui/data/forEachOf.ts"
import type { ConsumerJson, ListedSubscriptionJson, MeteringBucketJson, PageJson } from "../../api/types.ts"
import { findHighestUse, type MeterUse } from "../../components/quotas.ts"

/** A consumer with its keys, unless the page had too many keys. */
export type ListedConsumer = ConsumerJson

export interface ConsumerRow {
  readonly consumer: ListedConsumer
  /** The newest that allows usage, or else the newest. `undefined` if there is none, or while it is not known. */
  readonly subscription: ListedSubscriptionJson | undefined
  readonly use: MeterUse | undefined
  /** When the latest of its keys was used. */
  readonly lastSeenOn: string | undefined
}

/** How many metering buckets are read, and how many subscriptions of each at a time and in all. */
const [maxBuckets, pageSize, maxSubscriptions] = [5, 100, 2_000]

export const getCustomerKey = ({ customerKey, name }: ListedConsumer): string => customerKey ?? name

const loadBucket = async (
  bucket: string,
  customerKeys: ReadonlyArray<string>,
  signal: AbortSignal
): Promise<ReadonlyArray<ListedSubscriptionJson>> => {
  const path = toPath("/v1/metering", bucket, "subscriptions")
  const load = (query: { readonly after?: string; readonly customerKey?: string } = {}) =>
    get<PageJson<ListedSubscriptionJson>>(path, { include: "usage", limit: pageSize, ...query }, signal)
  const first = await load()
  // Many customers of whom a few are shown: each is asked for.
  if (first.total > maxSubscriptions || first.total > pageSize * Math.max(1, customerKeys.length / 20))
    return (await forEachOf(customerKeys, (customerKey) => load({ customerKey }))).flatMap(({ data }) => data)
  const all = [...first.data]
  for (let next = first.next; next !== undefined; ) {
    const page = await load({ after: next })
    all.push(...page.data)
    next = page.next
  }
  return all
}

const isServed = ({ status }: ListedSubscriptionJson): boolean => ["active", "trialing", "past-due"].includes(status)

/** The subscription that counts for each customer key: the newest that allows usage, or else the newest. */
export const loadSubscriptions = async (
  account: string,
  customerKeys: ReadonlyArray<string>,
  signal: AbortSignal
): Promise<ReadonlyMap<string, ListedSubscriptionJson>> => {
  const query = { accountName: account, limit: maxBuckets }
  const { data } = await get<PageJson<MeteringBucketJson>>("/v1/metering", query, signal)
  const found = await Promise.all(data.map(({ id }) => loadBucket(id, customerKeys, signal)))
  const byCustomer = new Map<string, ListedSubscriptionJson>()
  for (const subscription of found.flat()) {
    const former = byCustomer.get(subscription.customerKey)
    if (former === undefined || isServed(subscription) || !isServed(former))
      byCustomer.set(subscription.customerKey, subscription)
  }
  return byCustomer
}

export const toRow = (
  consumer: ListedConsumer,
  subscriptions: ReadonlyMap<string, ListedSubscriptionJson> | undefined
): ConsumerRow => {
  const subscription = subscriptions?.get(getCustomerKey(consumer))
  return {
    consumer,
    subscription,
    use: findHighestUse(subscription?.usage),
    lastSeenOn: (consumer.apiKeys ?? [])
      .map(({ lastUsedOn }) => lastUsedOn)
      .filter((lastUsedOn) => lastUsedOn !== undefined)
      .sort()
      .at(-1)
  }
}

/** States beside those of the subscription. */
export const consumerStates = ["stopped", "over quota", "near quota", "no key", "no subscription"] as const

type ConsumerState = (typeof consumerStates)[number]

/** What most needs attention. */
export const getState = ({
  consumer,
  subscription,
  use
}: ConsumerRow): ConsumerState | ListedSubscriptionJson["status"] => {
  if (consumer.disabled) return "stopped"
  if (consumer.apiKeys?.length === 0) return "no key"
  if (subscription === undefined) return "no subscription"
  if (!isServed(subscription)) return subscription.status
  if (use !== undefined && use.share >= 1) return "over quota"
  if (use !== undefined && use.share >= 0.8) return "near quota"
  return subscription.status
}

export const getPlan = ({ subscription }: ConsumerRow): string => subscription?.planExternalIds.join(", ") ?? ""

export const stateTones = {
  active: "good",
  trialing: "good",
  "near quota": "warning",
  "past-due": "warning",
  "over quota": "bad",
  stopped: "bad"
} as Readonly<Record<string, "good" | "warning" | "bad">>

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const orders: Readonly<Record<string, (a: ConsumerRow, b: ConsumerRow) => number>> = {
  name: (a, b) => compareTexts(a.consumer.name, b.consumer.name),
  plan: (a, b) => compareTexts(getPlan(a), getPlan(b)),
  used: (a, b) => (a.use?.share ?? -1) - (b.use?.share ?? -1),
  seen: (a, b) => compareTexts(a.lastSeenOn ?? "", b.lastSeenOn ?? ""),
  state: (a, b) => compareTexts(getState(a), getState(b)),
  created: (a, b) => compareTexts(a.consumer.createdOn, b.consumer.createdOn)
}

/** Sorts by a column; `-` before its name is the highest first. */
export const sortRows = (rows: ReadonlyArray<ConsumerRow>, sort: string): ReadonlyArray<ConsumerRow> => {
  const isDescending = sort.startsWith("-")
  const name = isDescending ? sort.slice(1) : sort
  const compare = Object.hasOwn(orders, name) ? orders[name] : undefined
  if (compare === undefined) return rows
  return [...rows].sort((a, b) => (isDescending ? compare(b, a) : compare(a, b)))
}

/** As CSV has them. */
export const toCsvRow = (row: ConsumerRow): Readonly<Record<string, string | number>> => ({
  name: row.consumer.name,
  description: row.consumer.description ?? "",
  customerKey: getCustomerKey(row.consumer),
  plan: getPlan(row),
  state: getState(row),
  meter: row.use?.meter ?? "",
  used: row.use?.quota.used ?? "",
  max: row.use?.quota.max ?? "",
  lastSeenOn: row.lastSeenOn ?? "",
  createdOn: row.consumer.createdOn,
  tags: JSON.stringify(row.consumer.tags ?? {})
})
