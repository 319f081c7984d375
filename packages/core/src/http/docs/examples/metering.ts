import type { AlertsApi } from "../../../metering/alerts/AlertsApi.ts"
import type { MeteringBucketsApi } from "../../../metering/buckets/MeteringBucketsApi.ts"
import type { GrantsApi } from "../../../metering/credits/GrantsApi.ts"
import type { CustomersApi } from "../../../metering/customers/CustomersApi.ts"
import type { AlertJson } from "../../../metering/model/Alert.ts"
import type { GrantJson } from "../../../metering/model/Grant.ts"
import type { MeteringBucketJson } from "../../../metering/model/MeteringBucket.ts"
import type { PlanJson } from "../../../metering/model/Plan.ts"
import type { QuotasJson } from "../../../metering/model/Quota.ts"
import type { SubscriptionJson } from "../../../metering/model/Subscription.ts"
import type { UsageSeriesJson } from "../../../metering/model/UsageSeries.ts"
import type { PlansApi } from "../../../metering/plans/PlansApi.ts"
import type { SubscriptionsApi } from "../../../metering/subscriptions/SubscriptionsApi.ts"
import type { UsageApi } from "../../../metering/usage/UsageApi.ts"
import { exampleId, generatedDates, pageOf, period, updated } from "./common.ts"
import type { GroupExamples } from "./Examples.ts"

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

const seriesByModel: UsageSeriesJson = {
  ...series,
  groupBy: "label:model",
  data: series.data.map((step) => {
    const { tokens = 0 } = step.meters
    const small = Math.floor(tokens / 2)
    const unknown = { requests: step.meters["requests"] ?? 0, ...(tokens > small ? { tokens: tokens - small } : {}) }
    return { ...step, groups: small > 0 ? [{ value: "small", meters: { tokens: small } }] : [], other: {}, unknown }
  })
}

export const buckets: GroupExamples<typeof MeteringBucketsApi> = {
  list: { response: pageOf(bucket) },
  create: { request: { accountName: "acme", name: "production" }, response: bucket },
  get: { response: bucket }
}

export const plans: GroupExamples<typeof PlansApi> = {
  list: { response: pageOf(pro) },
  create: { request: planInput, response: { ...pro, hasSubscriptions: false } },
  ensure: {
    request: { plans: [{ ...planInput, meters: newMeters }] },
    response: {
      data: [{ outcome: "updated", changedFields: ["meters"], plan: { ...pro, meters: newMeters, updatedOn: updated } }]
    }
  },
  get: { response: pro },
  update: { request: { meters: newMeters }, response: { ...pro, meters: newMeters, updatedOn: updated } }
}

export const subscriptions: GroupExamples<typeof SubscriptionsApi> = {
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

export const usage: GroupExamples<typeof UsageApi> = {
  series: { response: series },
  totals: { response: seriesByModel },
  top: {
    response: {
      meter: "tokens",
      asOf: "2026-11-16T09:30:00.000Z",
      data: [
        { customerKey: "alice", used: 250_000 },
        { customerKey: "bob", used: 1_200 }
      ]
    }
  },
  export: {
    response: pageOf({
      customerKey: "alice",
      subscriptionId: subscription.id,
      meters: { requests: 8_000, tokens: 250_000 }
    })
  },
  record: {
    request: { customerKey: "alice", meters: { tokens: 1_200 }, labels: { model: "small" } },
    response: toQuotas({ tokens: 251_200 })
  },
  recordEvents: {
    request: [
      {
        specversion: "1.0",
        id: "request-4711",
        source: "/gateway/eu",
        type: "llm.completion",
        subject: "alice",
        time: "2026-11-16T09:29:58.120Z",
        data: { meters: { tokens: 1_200 } }
      },
      {
        specversion: "1.0",
        id: "request-4712",
        source: "/gateway/eu",
        type: "llm.completion",
        subject: "bob",
        time: "2026-11-16T09:29:59.031Z",
        data: { meters: { tokens: 90 } }
      }
    ],
    response: {
      accepted: 1,
      duplicates: 0,
      rejected: [
        {
          index: 1,
          code: "subscription-not-found",
          detail: 'The customer "bob" has no subscription in this metering bucket'
        }
      ]
    }
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

const grantInput = { meter: "tokens", amount: 500_000, expiresOn: "2031-01-01T00:00:00.000Z", externalId: "payment-17" }
const grant: GrantJson = {
  id: exampleId("grt"),
  customerKey: "alice",
  ...grantInput,
  used: 120_000,
  remaining: 380_000,
  state: "active",
  priority: 100,
  effectiveOn: generatedDates.createdOn,
  createdOn: generatedDates.createdOn
}

export const grants: GroupExamples<typeof GrantsApi> = {
  list: { response: pageOf(grant) },
  create: { request: grantInput, response: { ...grant, used: 0, remaining: grant.amount } },
  get: { response: grant },
  void: { response: { ...grant, state: "voided" } }
}

const alertInput = { meter: "tokens", when: { remaining: 10_000 } }
const alert: AlertJson = {
  id: exampleId("alr"),
  customerKey: "alice",
  ...alertInput,
  createdOn: generatedDates.createdOn
}

export const alerts: GroupExamples<typeof AlertsApi> = {
  list: { response: pageOf({ ...alert, lastTriggeredOn: updated }) },
  create: { request: alertInput, response: alert },
  get: { response: alert }
}

export const customers: GroupExamples<typeof CustomersApi> = {
  list: { response: pageOf({ customerKey: "alice", subscriptionCount: 1 }) },
  get: {
    response: {
      customerKey: "alice",
      subscriptions: [subscription],
      features: { exports: true, seats: 5 },
      meters: {
        requests: {
          remaining: 2_000,
          overage: 0,
          allowance: { max: 10_000, used: 8_000, remaining: 2_000, periodStart: period.start, resetsOn: period.end }
        }
      }
    }
  },
  consume: subscriptions.consume,
  reserve: usage.reserve,
  settle: usage.settle,
  adjust: {
    request: { meter: "tokens", amount: -1_200, reason: "Counted twice" },
    response: toQuotas({ tokens: 250_000 })
  },
  changePlan: {
    request: { planExternalIds: ["pro"], at: "period-end" },
    response: {
      ...subscription,
      planExternalIds: ["free"],
      updatedOn: updated,
      pendingChange: { planIds: [pro.id], planExternalIds: ["pro"], effectiveOn: period.end }
    }
  },
  cancel: {
    request: { at: "period-end" },
    response: { ...subscription, updatedOn: updated, pendingChange: { status: "canceled", effectiveOn: period.end } }
  },
  series: usage.series
}
