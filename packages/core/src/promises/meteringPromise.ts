/**
 * The promise API of metering buckets, plans, subscriptions and usage.
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
const AccountOrAll = Schema.Struct({ accountName: Schema.Union([AccountName, Schema.Literal("*")]) })

const decodePageQuery = Promises.makeParameterDecoder(PageQuery)
const decodeAccountOrAll = Promises.makeParameterDecoder(AccountOrAll)
const decodeAccount = Promises.makeParameterDecoder(Schema.Struct({ accountName: AccountName }))
const decodeSubscriptionQuery = Promises.makeParameterDecoder(SubscriptionQuery)
const decodePlanCreate = Promises.makeBodyDecoder(PlanCreate)
const decodePlanUpdate = Promises.makeBodyDecoder(PlanUpdate)
const decodeSubscriptionCreate = Promises.makeBodyDecoder(SubscriptionCreate)
const decodeSubscriptionUpdate = Promises.makeBodyDecoder(SubscriptionUpdate)
const decodeConsumption = Promises.makeBodyDecoder(Consumption)

const encodeBucket = Schema.encodeSync(MeteringBucket)
const encodeBuckets = Schema.encodeSync(Page(MeteringBucket))
const encodePlan = Promises.makeEncoder(Plan)
const encodePlans = Promises.makeEncoder(Page(Plan))
const encodeSubscription = Promises.makeEncoder(Subscription)
const encodeSubscriptions = Promises.makeEncoder(Page(Subscription))

export const meteringBucketsPromise = (buckets: Omit<MeteringBuckets["Service"], "getAccountName">) => ({
  /** Returns a page of the metering buckets of an account, or of all accounts (`*`), oldest first. */
  list: (account: string, query: typeof PageQuery.Encoded = {}): Promise<PageJson<MeteringBucketJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const { accountName } = yield* decodeAccountOrAll({ accountName: account })
        return encodeBuckets(yield* buckets.list(accountName, { ...firstPage, ...(yield* decodePageQuery(query)) }))
      })
    ),
  /** Creates a metering bucket. */
  create: (account: string, options: IdempotencyOption = {}): Promise<MeteringBucketJson> =>
    Promises.run(
      Effect.gen(function* () {
        const { accountName } = yield* decodeAccount({ accountName: account })
        const idempotency = Promises.makeIdempotency(
          yield* Promises.decodeIdempotencyOption(options),
          ["buckets.create", account],
          {}
        )
        return encodeBucket((yield* buckets.create(accountName, { idempotency })).value)
      })
    ),
  /** Returns a metering bucket. */
  get: (bucketId: string): Promise<MeteringBucketJson> =>
    Promises.run(Effect.map(buckets.get(bucketId), ({ value }) => encodeBucket(value))),
  /** Deletes a metering bucket with its plans, subscriptions and usage. */
  remove: (bucketId: string): Promise<void> => Promises.run(buckets.remove(bucketId))
})

export const plansPromise = (plans: Plans["Service"]) => ({
  /** Returns a page of plans, oldest first. */
  list: (bucketId: string, query: typeof PageQuery.Encoded = {}): Promise<PageJson<PlanJson>> =>
    Promises.run(
      Effect.gen(function* () {
        return encodePlans(yield* plans.list(bucketId, { ...firstPage, ...(yield* decodePageQuery(query)) }))
      })
    ),
  /** Creates a plan. */
  create: (bucketId: string, input: typeof PlanCreate.Encoded, options: IdempotencyOption = {}): Promise<PlanJson> =>
    Promises.run(
      Effect.gen(function* () {
        const plan = yield* decodePlanCreate(input)
        const idempotency = Promises.makeIdempotency(
          yield* Promises.decodeIdempotencyOption(options),
          ["plans.create", bucketId],
          input
        )
        return encodePlan((yield* plans.create(bucketId, plan, { idempotency })).value)
      })
    ),
  /** Returns a plan. */
  get: (bucketId: string, planId: string): Promise<PlanJson> =>
    Promises.run(Effect.map(plans.get(bucketId, planId), ({ value }) => encodePlan(value))),
  /** Updates the fields in `patch`. */
  update: (bucketId: string, planId: string, patch: typeof PlanUpdate.Encoded): Promise<PlanJson> =>
    Promises.run(
      Effect.gen(function* () {
        return encodePlan((yield* plans.update(bucketId, planId, yield* decodePlanUpdate(patch))).value)
      })
    ),
  /** Deletes a plan. Rejects with `PlanInUse` if it has subscriptions. */
  remove: (bucketId: string, planId: string): Promise<void> => Promises.run(plans.remove(bucketId, planId))
})

export const subscriptionsPromise = (subscriptions: Subscriptions["Service"]) => ({
  /** Returns a page of subscriptions that match the filter, oldest first. */
  list: (bucketId: string, query: typeof SubscriptionQuery.Encoded = {}): Promise<PageJson<SubscriptionJson>> =>
    Promises.run(
      Effect.gen(function* () {
        const filter = { ...firstPage, ...(yield* decodeSubscriptionQuery(query)) }
        return encodeSubscriptions(yield* subscriptions.list(bucketId, filter))
      })
    ),
  /** Creates a subscription. */
  create: (
    bucketId: string,
    input: typeof SubscriptionCreate.Encoded,
    options: IdempotencyOption = {}
  ): Promise<SubscriptionJson> =>
    Promises.run(
      Effect.gen(function* () {
        const decoded = yield* decodeSubscriptionCreate(input)
        const key = yield* Promises.decodeIdempotencyOption(options)
        const idempotency = Promises.makeIdempotency(key, ["subscriptions.create", bucketId], input)
        const created = yield* subscriptions.create(bucketId, decoded, { idempotency })
        return encodeSubscription(created.value)
      })
    ),
  /** Returns a subscription. */
  get: (bucketId: string, subscriptionId: string): Promise<SubscriptionJson> =>
    Promises.run(Effect.map(subscriptions.get(bucketId, subscriptionId), ({ value }) => encodeSubscription(value))),
  /** Updates the fields in `patch`. Usage in the current period is kept. */
  update: (
    bucketId: string,
    subscriptionId: string,
    patch: typeof SubscriptionUpdate.Encoded
  ): Promise<SubscriptionJson> =>
    Promises.run(
      Effect.gen(function* () {
        const updated = yield* subscriptions.update(bucketId, subscriptionId, yield* decodeSubscriptionUpdate(patch))
        return encodeSubscription(updated.value)
      })
    ),
  /** Deletes a subscription. */
  remove: (bucketId: string, subscriptionId: string): Promise<void> =>
    Promises.run(subscriptions.remove(bucketId, subscriptionId))
})

export const usagePromise = (usage: Omit<Usage["Service"], "consumeForCustomer">) => ({
  /** Returns the quotas of a subscription, and their usage in the current period. */
  quotas: (bucketId: string, subscriptionId: string): Promise<QuotasJson> =>
    Promises.run(Effect.map(usage.quotas(bucketId, subscriptionId), encodeQuotas)),
  /** Consumes one or more meters atomically. Rejects with `QuotaExceeded` if a meter would exceed its maximum. */
  consume: (
    bucketId: string,
    subscriptionId: string,
    meters: (typeof Consumption.Encoded)["meters"],
    options?: IdempotencyOption
  ): Promise<QuotasJson> => {
    const validateAndConsume = Effect.gen(function* () {
      const amounts = parseAmounts(meters) ?? (yield* decodeConsumption({ meters })).meters
      const key = options === undefined ? undefined : yield* Promises.decodeIdempotencyOption(options)
      const idempotency = Promises.makeIdempotency(key, ["usage.consume", bucketId, subscriptionId], meters)
      return yield* usage.consume(bucketId, subscriptionId, amounts, { idempotency })
    })
    // Fast path without a generator, for valid amounts and no options.
    const consumption = Effect.suspend(() => {
      const amounts = options === undefined ? parseAmounts(meters) : undefined
      return amounts === undefined ? validateAndConsume : usage.consume(bucketId, subscriptionId, amounts)
    })
    return Promises.runPossiblySync(Effect.map(consumption, encodeQuotas))
  }
})
