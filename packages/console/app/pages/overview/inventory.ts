/**
 * What exists in an account, in numbers. Only the first few buckets are counted one by one, so that the number of requests
 * is bounded.
 */
import { find, get, toPath } from "@tollgate/ui/api/request.ts"
import type { MeteringBucketJson, NamedJson, PageJson, WebhookJson } from "../../api/types.ts"

const maxBuckets = 5
/** An account has hardly more. */
const maxWebhooks = 20

export interface KeyBucketCount {
  readonly name: string
  readonly consumers: number
}

export interface MeteringBucketCount {
  readonly id: string
  readonly name: string
  readonly plans: number
  readonly subscriptions: number
}

/** Some of the buckets, and how many there are. */
interface Some<A> {
  readonly first: ReadonlyArray<A>
  readonly total: number
}

export interface Inventory {
  readonly keyBuckets: Some<KeyBucketCount>
  readonly meteringBuckets: Some<MeteringBucketCount>
  /** `undefined` if the server has no deployments. */
  readonly projects: number | undefined
  /** `undefined` if the server has no webhooks. */
  readonly webhooks: Some<WebhookJson> | undefined
}

const count = async (path: string, signal: AbortSignal): Promise<number> =>
  (await get<PageJson<unknown>>(path, { limit: 1 }, signal)).total

const loadKeyBuckets = async (account: string, signal: AbortSignal): Promise<Some<KeyBucketCount>> => {
  const path = `${toPath("/v1/accounts", account)}/key-buckets`
  const { data, total } = await get<PageJson<NamedJson>>(path, { limit: maxBuckets }, signal)
  const first = data.map(async ({ name }) => ({
    name,
    consumers: await count(toPath(path, name, "consumers"), signal)
  }))
  return { first: await Promise.all(first), total }
}

const loadMeteringBuckets = async (account: string, signal: AbortSignal): Promise<Some<MeteringBucketCount>> => {
  const query = { accountName: account, limit: maxBuckets }
  const { data, total } = await get<PageJson<MeteringBucketJson>>("/v1/metering", query, signal)
  const first = data.map(async ({ id, name = id }) => {
    const [plans, subscriptions] = await Promise.all(
      ["plans", "subscriptions"].map((list) => count(toPath("/v1/metering", id, list), signal))
    )
    return { id, name, plans: plans ?? 0, subscriptions: subscriptions ?? 0 }
  })
  return { first: await Promise.all(first), total }
}

export const loadInventory = async (account: string, signal: AbortSignal): Promise<Inventory> => {
  const root = toPath("/v1/accounts", account)
  const [keyBuckets, meteringBuckets, projects, webhooks] = await Promise.all([
    loadKeyBuckets(account, signal),
    loadMeteringBuckets(account, signal),
    find<PageJson<unknown>>(`${root}/projects`, { limit: 1 }, signal),
    find<PageJson<WebhookJson>>(`${root}/webhooks`, { limit: maxWebhooks }, signal)
  ])
  return {
    keyBuckets,
    meteringBuckets,
    projects: projects?.total,
    webhooks: webhooks && { first: webhooks.data, total: webhooks.total }
  }
}

export const isEmpty = ({ keyBuckets, meteringBuckets, projects, webhooks }: Inventory): boolean =>
  keyBuckets.total + meteringBuckets.total + (projects ?? 0) + (webhooks?.total ?? 0) === 0
