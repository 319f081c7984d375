import type { MeteringBucketJson } from "../../../metering/model/MeteringBucket.ts"
import type { PlanJson } from "../../../metering/model/Plan.ts"
import type { QuotasJson } from "../../../metering/model/Quota.ts"
import type { SubscriptionJson } from "../../../metering/model/Subscription.ts"
import type { UsageSeriesJson } from "../../../metering/model/UsageSeries.ts"
import { exampleId, generatedDates, pageOf, period, updated } from "./common.ts"
import type { AllExamples } from "./Examples.ts"

const bucket: MeteringBucketJson = {
  id: exampleId("bckt"),
  ...generatedDates,
  accountName: "acme",
  name: "production"
}

const tokens = { label: "Tokens", max: 1_000_000 }
const planInput = {
  label: "Pro",
  planExternalId: "pro",
  meters: { requests: { label: "Requests", max: 10_000 }, tokens },
  rateLimits: { steady: { limit: 5, per: "second", burst: 20 } },
  trialDays: 14,
  trialEndStatus: "paused"
} as const
const newMeters = { requests: { label: "Requests", max: 20_000 }, tokens }
export const pro: PlanJson = { id: exampleId("plan"), ...generatedDates, hasSubscriptions: true, ...planInput }

const subscriptionInput = {
  planIds: [pro.id],
  planExternalIds: [pro.planExternalId],
  status: "active",
  type: "periodic",
  renewalStrategy: "monthly",
  region: "us-central1",
  customerKey: "alice",
  subscriptionExternalId: "order-42",
  customerExternalId: "customer-7",
  quotaResetAnchor: period.start
} as const
export const subscription: SubscriptionJson = {
  id: exampleId("sbsc"),
  ...generatedDates,
  ...subscriptionInput,
  nextBillingCycle: period.end
}

const toQuotas = (used: Readonly<Record<string, number>>): QuotasJson => ({
  meters: Object.fromEntries(
    Object.entries(pro.meters).flatMap(([meter, { max }]) => {
      const amount = used[meter]
      return amount === undefined ? [] : [[meter, { max, used: amount, remaining: max - amount }]]
    })
  ),
  periodStart: period.start,
  resetsOn: period.end
})

const series: UsageSeriesJson = {
  step: "day",
  from: "2026-11-15T00:00:00.000Z",
  to: "2026-11-17T00:00:00.000Z",
  data: [
    {
      start: "2026-11-15T00:00:00.000Z",
      end: "2026-11-16T00:00:00.000Z",
      meters: { requests: 412, tokens: 18_200 }
    },
    { start: "2026-11-16T00:00:00.000Z", end: "2026-11-17T00:00:00.000Z", meters: { requests: 96, tokens: 0 } }
  ]
}

export const buckets: AllExamples["buckets"] = {
  list: { response: pageOf(bucket) },
  create: { request: { accountName: "acme", name: "production" }, response: bucket },
  get: { response: bucket }
}

export const plans: AllExamples["plans"] = {
  list: { response: pageOf(pro) },
  create: { request: planInput, response: { ...pro, hasSubscriptions: false } },
  get: { response: pro },
  update: { request: { meters: newMeters }, response: { ...pro, meters: newMeters, updatedOn: updated } }
}

export const subscriptions: AllExamples["subscriptions"] = {
  list: { response: pageOf(subscription) },
  create: { request: subscriptionInput, response: subscription },
  get: { response: subscription },
  update: {
    request: { status: "canceled" },
    response: { ...subscription, status: "canceled", updatedOn: updated }
  },
  quotas: { response: toQuotas({ requests: 8_000, tokens: 250_000 }) },
  consume: { request: { meters: { requests: 1 } }, response: toQuotas({ requests: 8_001 }) }
}

export const usage: AllExamples["usage"] = {
  series: { response: series },
  totals: { response: series },
  record: {
    request: { customerKey: "alice", meters: { tokens: 1_200 } },
    response: toQuotas({ tokens: 251_200 })
  },
  reserve: {
    request: { meters: { tokens: 4_000 }, expiresIn: 120 },
    response: {
      id: exampleId("rsv"),
      meters: { tokens: 4_000 },
      expiresOn: "2026-11-16T09:32:00.000Z",
      quotas: toQuotas({ tokens: 254_000 })
    }
  },
  settle: { request: { meters: { tokens: 1_234 } }, response: toQuotas({ tokens: 251_234 }) }
}
