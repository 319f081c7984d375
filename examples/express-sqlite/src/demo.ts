/**
 * Creates demo data at the first start, so that you can call the protected route immediately: a consumer with an API
 * key, a plan and a subscription.
 */
import type { Tollgate } from "@tollgate/core"

export const account = "demo"
export const bucket = "production"

export interface Demo {
  readonly meteringBucketId: string
  /** The demo consumer's API key; only at the first start. */
  readonly key: string | undefined
}

/** Five calls of /hello a month, so that the quota is quickly exceeded. */
const meters = { requests: { label: "Requests", max: 5 } }

export const prepareDemo = async (gate: Tollgate): Promise<Demo> => {
  const [existingBucket] = (await gate.meteringBuckets.list(account, { limit: 1 })).data
  if (existingBucket !== undefined) return { meteringBucketId: existingBucket.id, key: undefined }
  const consumer = await gate.consumers.create(
    account,
    bucket,
    { name: "alice" },
    { withApiKey: true, idempotencyKey: "demo" }
  )
  const { id: meteringBucketId } = await gate.meteringBuckets.create(account, { idempotencyKey: "demo" })
  const plan = await gate.plans.create(
    meteringBucketId,
    { label: "Free", planExternalId: "free", meters },
    { idempotencyKey: "demo" }
  )
  await gate.subscriptions.create(
    meteringBucketId,
    {
      planIds: [plan.id],
      planExternalIds: ["free"],
      status: "active",
      type: "periodic",
      renewalStrategy: "monthly",
      region: "us-central1",
      customerKey: "alice",
      subscriptionExternalId: "demo",
      customerExternalId: "demo"
    },
    { idempotencyKey: "demo" }
  )
  return { meteringBucketId, key: consumer.apiKeys?.[0]?.key }
}
