/**
 * A consumer with a plan, so that the protected route can be tried at once: made at the first start.
 */
import type { Tollgate } from "@tollgate/core"

export const account = "demo"
export const bucket = "production"

export interface Demo {
  readonly bucketId: string
  /** The demo consumer's key, if it was made just now. */
  readonly key: string | undefined
}

/** Five calls of /hello a month: few enough to see the end of them. */
const meters = { requests: { label: "Requests", max: 5 } }

export const prepareDemo = async (gate: Tollgate): Promise<Demo> => {
  const [known] = (await gate.meteringBuckets.list(account, { limit: 1 })).data
  if (known !== undefined) return { bucketId: known.id, key: undefined }
  const made = await gate.consumers.create(
    account,
    bucket,
    { name: "alice" },
    { withApiKey: true, idempotencyKey: "demo" }
  )
  const { id: bucketId } = await gate.meteringBuckets.create(account, { idempotencyKey: "demo" })
  const plan = await gate.plans.create(
    bucketId,
    { label: "Free", planExternalId: "free", meters },
    { idempotencyKey: "demo" }
  )
  await gate.subscriptions.create(
    bucketId,
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
  return { bucketId, key: made.apiKeys?.[0]?.key }
}
