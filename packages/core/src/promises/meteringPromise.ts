/**
 * Metering for callers outside Effect.
 */
import { Effect, Schema } from "effect"
import { MeteringBucket } from "../metering/MeteringBucket.ts"
import type { MeteringBuckets } from "../metering/MeteringBuckets.ts"
import { Plan, PlanCreate, PlanUpdate } from "../metering/Plan.ts"
import type { Plans } from "../metering/Plans.ts"
import { Consumption, encodeQuotas, parseAmounts, type Quotas } from "../metering/Quota.ts"
import { Subscription, SubscriptionCreate, SubscriptionStatus, SubscriptionUpdate } from "../metering/Subscription.ts"
import type { Subscriptions } from "../metering/Subscriptions.ts"
import type { Usage } from "../metering/Usage.ts"
import { AccountName } from "../schema/Names.ts"
import { firstPage, Page, PageQuery } from "../schema/Page.ts"
import type { PageJson } from "./consumersPromise.ts"
import * as Promises from "./Promises.ts"

export type MeteringBucketJson = typeof MeteringBucket.Encoded
export type PlanJson = typeof Plan.Encoded
export type SubscriptionJson = typeof Subscription.Encoded
export type QuotasJson = typeof Quotas.Encoded

type IdempotencyOption = { readonly idempotencyKey?: string }

const SubscriptionQuery = Schema.Struct({
  ...PageQuery.fields,
  customerKey: Schema.optionalKey(Schema.String),
  customerExternalId: Schema.optionalKey(Schema.String),
  subscriptionExternalId: Schema.optionalKey(Schema.String),
  status: Schema.optionalKey(SubscriptionStatus)
})
const Account = Schema.Struct({ accountName: Schema.Union([AccountName, Schema.Literal("*")]) })

const pageQuery = Promises.decodeParameters(PageQuery)
const accountIn = Promises.decodeParameters(Account)
const ownerIn = Promises.decodeParameters(Schema.Struct({ accountName: AccountName }))
const subscriptionQuery = Promises.decodeParameters(SubscriptionQuery)
const planCreate = Promises.decodeBody(PlanCreate)
const planUpdate = Promises.decodeBody(PlanUpdate)
const subscriptionCreate = Promises.decodeBody(SubscriptionCreate)
const subscriptionUpdate = Promises.decodeBody(SubscriptionUpdate)
const consumption = Promises.decodeBody(Consumption)

const encodeBucket = Schema.encodeSync(MeteringBucket)
const encodeBuckets = Schema.encodeSync(Page(MeteringBucket))
const encodePlan = Promises.encoder(Plan)
const encodePlans = Promises.encoder(Page(Plan))
const encodeSubscription = Promises.encoder(Subscription)
const encodeSubscriptions = Promises.encoder(Page(Subscription))

export const meteringBucketsPromise = (buckets: Omit<MeteringBuckets["Service"], "owner">) => ({
  /** A page of an account's buckets, or of everybody's (`*`), oldest first. */
  list: (account: string, query: typeof PageQuery.Encoded = {}): Promise<PageJson<MeteringBucketJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const { accountName } = yield* accountIn({ accountName: account })
        return encodeBuckets(yield* buckets.list(accountName, { ...firstPage, ...(yield* pageQuery(query)) }))
      })
    ),
  create: (account: string, options: IdempotencyOption = {}): Promise<MeteringBucketJson> =>
    Promises.run(
      Effect.gen(function* () {
        const { accountName } = yield* ownerIn({ accountName: account })
        const idempotency = Promises.idempotency(
          yield* Promises.decodeIdempotencyOption(options),
          ["buckets.create", account],
          {}
        )
        return encodeBucket((yield* buckets.create(accountName, { idempotency })).value)
      })
    ),
  get: (bucketId: string): Promise<MeteringBucketJson> =>
    Promises.run(Effect.map(buckets.get(bucketId), ({ value }) => encodeBucket(value))),
  /** Removes a bucket and everything in it. */
  remove: (bucketId: string): Promise<void> => Promises.run(buckets.remove(bucketId))
})

export const plansPromise = (plans: Plans["Service"]) => ({
  list: (bucketId: string, query: typeof PageQuery.Encoded = {}): Promise<PageJson<PlanJson>> =>
    Promises.run(
      Effect.gen(function* () {
        return encodePlans(yield* plans.list(bucketId, { ...firstPage, ...(yield* pageQuery(query)) }))
      })
    ),
  create: (bucketId: string, input: typeof PlanCreate.Encoded, options: IdempotencyOption = {}): Promise<PlanJson> =>
    Promises.run(
      Effect.gen(function* () {
        const plan = yield* planCreate(input)
        const idempotency = Promises.idempotency(
          yield* Promises.decodeIdempotencyOption(options),
          ["plans.create", bucketId],
          input
        )
        return encodePlan((yield* plans.create(bucketId, plan, { idempotency })).value)
      })
    ),
  get: (bucketId: string, planId: string): Promise<PlanJson> =>
    Promises.run(Effect.map(plans.get(bucketId, planId), ({ value }) => encodePlan(value))),
  update: (bucketId: string, planId: string, patch: typeof PlanUpdate.Encoded): Promise<PlanJson> =>
    Promises.run(
      Effect.gen(function* () {
        return encodePlan((yield* plans.update(bucketId, planId, yield* planUpdate(patch))).value)
      })
    ),
  /** Removes a plan that nobody has. */
  remove: (bucketId: string, planId: string): Promise<void> => Promises.run(plans.remove(bucketId, planId))
})

export const subscriptionsPromise = (subscriptions: Subscriptions["Service"]) => ({
  list: (bucketId: string, query: typeof SubscriptionQuery.Encoded = {}): Promise<PageJson<SubscriptionJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const asked = { ...firstPage, ...(yield* subscriptionQuery(query)) }
        return encodeSubscriptions(yield* subscriptions.list(bucketId, asked))
      })
    ),
  create: (
    bucketId: string,
    input: typeof SubscriptionCreate.Encoded,
    options: IdempotencyOption = {}
  ): Promise<SubscriptionJson> =>
    Promises.run(
      Effect.gen(function* () {
        const given = yield* subscriptionCreate(input)
        const key = yield* Promises.decodeIdempotencyOption(options)
        const idempotency = Promises.idempotency(key, ["subscriptions.create", bucketId], input)
        const created = yield* subscriptions.create(bucketId, given, { idempotency })
        return encodeSubscription(created.value)
      })
    ),
  get: (bucketId: string, subscriptionId: string): Promise<SubscriptionJson> =>
    Promises.run(Effect.map(subscriptions.get(bucketId, subscriptionId), ({ value }) => encodeSubscription(value))),
  update: (
    bucketId: string,
    subscriptionId: string,
    patch: typeof SubscriptionUpdate.Encoded
  ): Promise<SubscriptionJson> =>
    Promises.run(
      Effect.gen(function* () {
        const updated = yield* subscriptions.update(bucketId, subscriptionId, yield* subscriptionUpdate(patch))
        return encodeSubscription(updated.value)
      })
    ),
  remove: (bucketId: string, subscriptionId: string): Promise<void> =>
    Promises.run(subscriptions.remove(bucketId, subscriptionId))
})

export const usagePromise = (usage: Omit<Usage["Service"], "consumeFor">) => ({
  /** What a subscription has, and has used, in its period. */
  quotas: (bucketId: string, subscriptionId: string): Promise<QuotasJson> =>
    Promises.run(Effect.map(usage.quotas(bucketId, subscriptionId), encodeQuotas)),
  /** Uses several meters, all or none; rejects with `QuotaExceeded` where one would pass its maximum. */
  consume: (
    bucketId: string,
    subscriptionId: string,
    meters: (typeof Consumption.Encoded)["meters"],
    options?: IdempotencyOption
  ): Promise<QuotasJson> => {
    const carefully = Effect.gen(function* () {
      const amounts = parseAmounts(meters) ?? (yield* consumption({ meters })).meters
      const key = options === undefined ? undefined : yield* Promises.decodeIdempotencyOption(options)
      const idempotency = Promises.idempotency(key, ["usage.consume", bucketId, subscriptionId], meters)
      return yield* usage.consume(bucketId, subscriptionId, amounts, { idempotency })
    })
    // Most uses are plain, and need no generator.
    const consuming = Effect.suspend(() => {
      const amounts = options === undefined ? parseAmounts(meters) : undefined
      return amounts === undefined ? carefully : usage.consume(bucketId, subscriptionId, amounts)
    })
    return Promises.runPossiblySync(Effect.map(consuming, encodeQuotas))
  }
})
