/**
 * Creates demo data at the first start, so that you can call the protected route immediately: a consumer with an API
 * key, a plan and a subscription.
 */
import type { LocalKeyBucketHandle, Tollgate } from "tollgate"

export const account = "demo"
export const bucket = "production"
export const consumer = "alice"

export interface Demo {
  readonly production: LocalKeyBucketHandle
  readonly meteringBucketId: string
  /** The demo consumer's API key; only at the first start. */
  readonly key: string | undefined
}

/** Five calls of /hello a month, so that the quota is quickly exceeded. */
const meters = { requests: { label: "Requests", max: 5 } }

export const prepareDemo = async (gate: Tollgate): Promise<Demo> => {
  const demo = gate.account(account)
  const production = demo.keyBucket(bucket)
  const metering = await demo.meteringBuckets.ensure("default")
  const { data: plans } = await metering.plans.list()
  if (plans.some(({ planExternalId }) => planExternalId === "free"))
    return { production, meteringBucketId: metering.id, key: undefined }
  const once = { idempotencyKey: "demo" }
  const { apiKeys } = await production.consumers.create({ name: consumer }, { withApiKey: true, ...once })
  await metering.plans.create({ label: "free", meters }, once)
  await metering.subscriptions.create({ customerKey: consumer, planExternalIds: ["free"] }, once)
  return { production, meteringBucketId: metering.id, key: apiKeys[0].key }
}
