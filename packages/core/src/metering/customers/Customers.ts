/**
 * Operations on customers: list, get, consume, reserve, settle, adjust and series. Of a customer's subscriptions, the newest
 * counts that allows usage and has the meters.
 */

import {
  type CommitResult,
  type Entry,
  forEachInPieces,
  invalidParameter,
  makeKeyedLocks,
  maxFound,
  omitUndefined,
  Partition,
  retryOnConflict,
  runInFiber,
  SecretBox,
  Store,
  TrustedClock,
  toPage
} from "@tollgate/store/internal"
import { Context, type DateTime, Effect, Layer, Option } from "effect"
import { Limits } from "../../accounts/limits/Limits.ts"
import { implementOperations } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import { limitWithUsage } from "../../api/query.ts"
import { DueWork } from "../../jobs/DueWork.ts"
import { readSettledCustomer } from "../credits/settleCredit.ts"
import { summarizeGrants } from "../credits/summarizeGrants.ts"
import { UseRecorder } from "../groups/UseRecorder.ts"
import { UsageHistory } from "../history/UsageHistory.ts"
import { readQuotas } from "../ledger/readQuotas.ts"
import type { Customer } from "../model/Customer.ts"
import { CustomerNotFound } from "../model/CustomerError.ts"
import { type CustomerEntitlements, featuresAt, findUsable, readEntitlement } from "../model/customerEntitlements.ts"
import { findCustomerKeys, pageOfCustomers } from "../model/customerRecords.ts"
import * as Entitlement from "../model/Entitlement.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import { findMeteringBucket } from "../model/meteringBucketRecords.ts"
import type { Quotas } from "../model/Quota.ts"
import type { SubscriptionNotActive } from "../model/QuotaError.ts"
import { defaultReservationSeconds } from "../model/Reservation.ts"
import { ReservationNotFound } from "../model/ReservationError.ts"
import { readEndings, reservationRecords } from "../model/reservationRecords.ts"
import { byCustomer, findSubscription, subscriptionRecords } from "../model/subscriptionRecords.ts"
import { toSubscriptions } from "../model/toSubscription.ts"
import { makeEndReservation, settlementCodec, toSettledQuotas } from "../reservations/endOnce.ts"
import { Reservations, toReservation } from "../reservations/Reservations.ts"
import { type ConsumeResult, getQuotaPeriod, toPolicies } from "../usage/ConsumeResult.ts"
import { type CountReceipt, receiptCodec, toQuotas } from "../usage/CountReceipt.ts"
import type { SubscriptionRefusal } from "../usage/SubscriptionRefusal.ts"
import { Usage } from "../usage/Usage.ts"
import { makeAdjustUsage, toAdjustedQuotas } from "./adjustUsage.ts"
import { CustomersApi } from "./CustomersApi.ts"
import { findPending, makePlanChanges, noneAllowsUsage, toCommittedSubscription } from "./changePlan.ts"

/** How many of a customer's subscriptions an answer has. */
const maxSubscriptions = 20

/** The newest subscriptions of a customer, in any status. */
const listNewest = Effect.fnUntraced(function* (bucketId: string, customerKey: string) {
  const { entries } = yield* subscriptionRecords.page(Partition.forMeteringBucket(bucketId), {
    where: [byCustomer(customerKey)],
    offset: 0,
    limit: maxSubscriptions,
    descending: true,
    mayEndEarly: true
  })
  return entries.map(({ value }) => value)
})

/** The same, of a customer that must have one. */
const readNewest = Effect.fnUntraced(function* (bucketId: string, customerKey: string) {
  const newest = yield* listNewest(bucketId, customerKey)
  return newest.length === 0 ? yield* new CustomerNotFound({ customerKey }) : newest
})

const countSubscriptions = Effect.fnUntraced(function* (bucketId: string, customerKeys: ReadonlyArray<string>) {
  const pages = yield* subscriptionRecords.pages(
    Partition.forMeteringBucket(bucketId),
    customerKeys.map((customerKey) => ({ where: [byCustomer(customerKey)], offset: 0, limit: 0 }))
  )
  return customerKeys.map((customerKey, index) => ({ customerKey, subscriptionCount: pages[index]?.total ?? 0 }))
})

const choose = (customer: CustomerEntitlements, meter: string | undefined, now: DateTime.Utc) =>
  findUsable(customer, meter === undefined ? {} : { [meter]: true }, now)

/** Fails if the customer has no subscription, or none that allows usage. */
const requireCounted = (
  outcome: ConsumeResult | SubscriptionRefusal,
  customerKey: string
): Effect.Effect<ConsumeResult, CustomerNotFound | SubscriptionNotActive> => {
  if (outcome === "no-subscription") return Effect.fail(new CustomerNotFound({ customerKey }))
  return outcome === "subscription-not-active" ? Effect.fail(noneAllowsUsage(customerKey)) : Effect.succeed(outcome)
}

const toCustomerMeters = (quotas: Quotas): ReadonlyArray<[string, Customer["meters"][string]]> =>
  Object.entries(quotas.meters).map(([meter, quota]) => {
    const { max, remaining, credit, overage = 0 } = quota
    const { start, end } = getQuotaPeriod(quota, quotas)
    const period = { periodStart: start, ...omitUndefined({ resetsOn: end }) }
    const left = remaining - (credit ?? 0)
    const allowance = { max, used: overage > 0 ? max + overage : max - left, remaining: left, ...period }
    return [meter, { remaining, ...omitUndefined({ credit }), overage, allowance }]
  })

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const trustedClock = yield* TrustedClock
  const usage = yield* Usage
  const reservations = yield* Reservations
  const history = yield* UsageHistory
  const endReservation = makeEndReservation({ store, usage, trustedClock, useRecorder: yield* UseRecorder })
  const adjusting = makeKeyedLocks()
  const adjustUsage = makeAdjustUsage({ store, usage, trustedClock })
  const services = { store, trustedClock, dueWork: yield* DueWork, limits: yield* Limits }
  const { changePlan, cancel, withdrawPendingChange } = makePlanChanges(services)

  const readCustomer = Effect.fnUntraced(function* (bucketId: string, customerKey: string) {
    const { accountName } = (yield* findMeteringBucket(bucketId)).value
    return yield* readSettledCustomer(accountName, bucketId, customerKey, yield* trustedClock.now)
  })

  /** The meters of a customer, each of the newest subscription that may consume and has it. */
  const readMeters = Effect.fnUntraced(function* (
    bucketId: string,
    customerKey: string,
    { entitlements }: CustomerEntitlements,
    now: DateTime.Utc
  ) {
    const meters = new Map<string, Customer["meters"][string]>()
    for (const entitlement of entitlements) {
      const limits = Entitlement.limitsAt(entitlement, now)
      if (!limits.canConsume || [...limits.meters.keys()].every((meter) => meters.has(meter))) continue
      for (const [meter, quota] of toCustomerMeters(yield* readQuotas(bucketId, entitlement, now))) {
        if (!meters.has(meter)) meters.set(meter, quota)
      }
    }
    const withCredit = [...meters].flatMap(([meter, { credit }]) => (credit === undefined ? [] : [meter]))
    const summaries = yield* summarizeGrants(bucketId, customerKey, withCredit)
    const show = (meter: string, quota: Customer["meters"][string]) =>
      quota.credit === undefined
        ? quota
        : { ...quota, grants: { remaining: quota.credit, count: 0, ...summaries.get(meter) } }
    return Object.fromEntries([...meters].map(([meter, quota]) => [meter, show(meter, quota)]))
  })

  /** The subscription that a reservation was made for, also if the reservation has ended. */
  const findReserved = Effect.fnUntraced(function* (bucketId: string, customerKey: string, reservationId: string) {
    yield* findMeteringBucket(bucketId)
    const partition = Partition.forMeteringBucket(bucketId)
    const entry = yield* reservationRecords.get(partition, reservationId)
    const ids = Option.isSome(entry)
      ? [entry.value.value.subscriptionId]
      : (yield* readNewest(bucketId, customerKey)).map(({ id }) => id)
    const endings = Option.isSome(entry) ? [1] : yield* readEndings(partition, reservationId, ids)
    const subscriptionId = ids.find((_, index) => (endings[index] ?? 0) > 0)
    if (subscriptionId === undefined) return yield* new ReservationNotFound({ reservationId })
    const { value } = yield* Effect.catchTag(findSubscription(bucketId, subscriptionId), "SubscriptionNotFound", () =>
      Effect.fail(new ReservationNotFound({ reservationId }))
    )
    return value.customerKey === customerKey ? subscriptionId : yield* new ReservationNotFound({ reservationId })
  })

  /** Customers in a list. */
  const toListed = Effect.fnUntraced(function* (
    bucketEntry: Entry<MeteringBucket>,
    customerKeys: ReadonlyArray<string>,
    include: "usage" | undefined
  ) {
    const { id, accountName } = bucketEntry.value
    const listed = yield* countSubscriptions(id, customerKeys)
    if (include === undefined) return listed
    const now = yield* trustedClock.now
    return yield* forEachInPieces(listed, (customer) =>
      readSettledCustomer(accountName, id, customer.customerKey, now).pipe(
        Effect.flatMap((entitlements) => readMeters(id, customer.customerKey, entitlements, now)),
        retryOnConflict,
        Effect.map((meters) => ({ ...customer, usage: { meters } }))
      )
    )
  })

  return Customers.of(
    implementOperations(CustomersApi, { store, secretBox })({
      list: Effect.fnUntraced(function* ({ params: { bucketId }, query }) {
        const bucketEntry = yield* findMeteringBucket(bucketId)
        const { offset, after, search, include } = query
        if (search !== undefined) {
          if (offset !== undefined || after !== undefined)
            return yield* invalidParameter("search", "cannot be combined with offset or after")
          const max = Math.min(query.limit, maxFound)
          const keys = yield* findCustomerKeys(bucketId, search, max)
          return { data: yield* toListed(bucketEntry, keys, include), limit: max, offset: 0 }
        }
        const limit = limitWithUsage(query)
        const found = yield* pageOfCustomers(bucketId, { limit, offset: offset ?? 0, after })
        const keys = found.entries.map(({ value }) => value.customerKey)
        return toPage({ limit, offset: offset ?? 0 }, found, yield* toListed(bucketEntry, keys, include))
      }),

      get: Effect.fnUntraced(function* ({ params: { bucketId, customerKey } }) {
        const now = yield* trustedClock.now
        const { customer, meters } = yield* retryOnConflict(
          Effect.gen(function* () {
            const customer = yield* readCustomer(bucketId, customerKey)
            return { customer, meters: yield* readMeters(bucketId, customerKey, customer, now) }
          })
        )
        if (customer.total === 0 && customer.credit === undefined) return yield* new CustomerNotFound({ customerKey })
        const newest = yield* listNewest(bucketId, customerKey)
        const pending = yield* findPending(bucketId, customerKey, now)
        const [{ pendingChange } = {}, ...subscriptions] = yield* toSubscriptions(
          bucketId,
          [pending?.value ?? newest[0], ...newest].filter((stored) => stored !== undefined),
          now
        )
        return {
          customerKey,
          subscriptions,
          features: featuresAt(customer, now),
          meters,
          ...omitUndefined({ pendingChange })
        }
      }),

      consume: Effect.fnUntraced(function* ({ params: { bucketId, customerKey }, payload: { meters } }, once) {
        const toResult = (receipt: CountReceipt, commitResult: CommitResult) => ({
          value: toQuotas(meters, receipt, commitResult),
          policies: []
        })
        const commitOnce = once(Partition.forMeteringBucket(bucketId), toResult, receiptCodec)
        const { accountName } = (yield* findMeteringBucket(bucketId)).value
        const request = { amounts: meters, rateLimitTakes: [], kind: "consume" } as const
        const outcome = yield* runInFiber(store, (hotPath) =>
          usage.countForCustomer(accountName, bucketId, customerKey, request, hotPath, commitOnce)
        ).pipe(Effect.catchTags({ ReservationLimit: Effect.die, MissingFeature: Effect.die }))
        const consumed = yield* requireCounted(outcome, customerKey)
        return { value: consumed.quotas, policies: toPolicies(consumed, (yield* trustedClock.now).epochMilliseconds) }
      }),

      reserve: Effect.fnUntraced(function* (
        { params: { bucketId, customerKey }, payload: { meters, expiresIn = defaultReservationSeconds } },
        once
      ) {
        const toResult = (receipt: CountReceipt, commitResult: CommitResult) => ({
          value: toReservation(receipt, meters, toQuotas(meters, receipt, commitResult)),
          policies: []
        })
        const commitOnce = once(Partition.forMeteringBucket(bucketId), toResult, receiptCodec)
        const { accountName } = (yield* findMeteringBucket(bucketId)).value
        const outcome = yield* reservations
          .reserveForCustomer(
            accountName,
            bucketId,
            customerKey,
            { amounts: meters, rateLimitTakes: [] },
            { expiresInMs: expiresIn * 1_000, commitOnce }
          )
          .pipe(Effect.catchTag("MissingFeature", Effect.die))
        const reserved = yield* requireCounted(outcome, customerKey)
        return {
          value: toReservation(reserved.receipt, meters, reserved.quotas),
          policies: toPolicies(reserved, (yield* trustedClock.now).epochMilliseconds)
        }
      }),

      settle: Effect.fnUntraced(function* (
        { params: { bucketId, customerKey, reservationId }, payload: { meters, labels } },
        once
      ) {
        const commitOnce = once(Partition.forMeteringBucket(bucketId), toSettledQuotas, settlementCodec)
        const subscriptionId = yield* findReserved(bucketId, customerKey, reservationId)
        const path = { bucketId, subscriptionId, reservationId }
        return yield* Effect.catchTag(
          endReservation(path, new Map(Object.entries(meters)), commitOnce, labels),
          "SubscriptionNotFound",
          () => Effect.fail(new ReservationNotFound({ reservationId }))
        )
      }),

      adjust: Effect.fnUntraced(function* ({ params: { bucketId, customerKey }, payload: adjustment }, once) {
        const commitOnce = once(Partition.forMeteringBucket(bucketId), toAdjustedQuotas(adjustment), receiptCodec)
        const attempt = Effect.gen(function* () {
          const customer = yield* readCustomer(bucketId, customerKey)
          if (customer.total === 0) return yield* new CustomerNotFound({ customerKey })
          const chosen = choose(customer, adjustment.meter, yield* trustedClock.now)
          if (chosen === undefined) return yield* noneAllowsUsage(customerKey)
          return yield* adjustUsage(bucketId, chosen, adjustment, commitOnce)
        })
        // One at a time: each rewrites the ledger, so all others would conflict.
        return yield* adjusting(`${bucketId} ${customerKey}`, retryOnConflict(attempt))
      }),

      changePlan: Effect.fnUntraced(function* ({ params: { bucketId, customerKey }, payload }, once) {
        const commitOnce = once(Partition.forMeteringBucket(bucketId), toCommittedSubscription)
        return yield* changePlan(bucketId, customerKey, payload, commitOnce)
      }),

      cancel: Effect.fnUntraced(function* ({ params: { bucketId, customerKey }, payload }, once) {
        const commitOnce = once(Partition.forMeteringBucket(bucketId), toCommittedSubscription)
        return yield* cancel(bucketId, customerKey, payload, commitOnce)
      }),

      withdrawPendingChange: ({ params: { bucketId, customerKey } }) => withdrawPendingChange(bucketId, customerKey),

      series: Effect.fnUntraced(function* ({ params: { bucketId, customerKey }, query = {} }) {
        const customer = yield* readCustomer(bucketId, customerKey)
        const chosen = choose(customer, query.meter, yield* trustedClock.now)
        if (chosen !== undefined) return yield* history.readSeries(bucketId, chosen, query)
        const [newest] = yield* readNewest(bucketId, customerKey)
        const entitlement = yield* readEntitlement(bucketId, newest?.id ?? "").pipe(
          Effect.catchTag("SubscriptionNotFound", () => Effect.fail(new CustomerNotFound({ customerKey })))
        )
        return yield* history.readSeries(bucketId, entitlement, query)
      })
    })
  )
})

/** The operations on customers. Each takes one `OperationRequest`. */
export class Customers extends Context.Service<Customers, Operations<typeof CustomersApi>>()(
  "@tollgate/core/metering/Customers"
) {
  static readonly layer = Layer.effect(Customers, make)
}
