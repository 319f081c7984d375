/**
 * The services of usage, as the tests call them: a metering bucket with a plan, its subscriptions, and usage over time in
 * a short form.
 */
import {
  AccountName,
  Customers,
  MeteringBuckets,
  Plans,
  Reservations,
  type ServiceOptions,
  Subscriptions,
  Tollgate,
  Usage,
  UsageHistory,
  type UsageStep
} from "@tollgate/core/effect"
import type { Store } from "@tollgate/store"
import { makeSubscription } from "@tollgate/testing"
import { Clock, DateTime, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { shiftClock } from "./shiftClock.ts"
import { secret } from "./stores.ts"

export type Amounts = Readonly<Record<string, number>>
type Range = { readonly from?: string; readonly to?: string; readonly meter?: string }
type SubscriptionFields = Partial<Parameters<Subscriptions["Service"]["create"]>[0]["payload"]>
type PlanPatch = Parameters<Plans["Service"]["update"]>[0]["payload"]
type SubscriptionPatch = Parameters<Subscriptions["Service"]["update"]>[0]["payload"]

export const hourMs = 60 * 60 * 1000
export const dayMs = 24 * hourMs

const parseRange = ({ from, to, meter }: Range) => ({
  ...(from === undefined ? {} : { from: DateTime.makeUnsafe(from) }),
  ...(to === undefined ? {} : { to: DateTime.makeUnsafe(to) }),
  ...(meter === undefined ? {} : { meter })
})

/** A series with its times as text. */
const formatSeries = ({ step, from, to, data }: Effect.Success<ReturnType<UsageHistory["Service"]["series"]>>) => ({
  step,
  from: DateTime.formatIso(from),
  to: DateTime.formatIso(to),
  data: data.map(({ start, end, meters }) => ({
    start: DateTime.formatIso(start),
    end: DateTime.formatIso(end),
    meters
  }))
})
export type Series = ReturnType<typeof formatSeries>

/** The sum of a meter over all steps. */
export const sum = ({ data }: Series, meter = "requests"): number =>
  data.reduce((total, { meters }) => total + (meters[meter] ?? 0), 0)

/** The steps in which something was used, by the start of the step. */
export const used = ({ data }: Series): Readonly<Record<string, Amounts>> =>
  Object.fromEntries(
    data.flatMap(({ start, meters }) => {
      const amounts = Object.entries(meters).filter(([, amount]) => amount !== 0)
      return amounts.length === 0 ? [] : [[start.replace(":00.000Z", ""), Object.fromEntries(amounts)]]
    })
  )

/** The operations on one subscription, of a process that may have a clock of its own. */
export const useSubscription = Effect.fnUntraced(function* (
  bucketId: string,
  subscriptionId: string,
  clock?: Clock.Clock
) {
  const [usage, history, reservations, subscriptions] = [
    yield* Usage,
    yield* UsageHistory,
    yield* Reservations,
    yield* Subscriptions
  ]
  const params = { bucketId, subscriptionId }
  const run = <A, E>(operation: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    clock === undefined ? operation : Effect.provideService(operation, Clock.Clock, clock)
  const withKey = (idempotencyKey: string | undefined) =>
    idempotencyKey === undefined ? {} : { headers: { idempotencyKey } }
  return {
    id: subscriptionId,
    consume: (meters: Amounts = { requests: 1 }, key?: string) =>
      Effect.map(run(usage.consume({ params, ...withKey(key), payload: { meters } })), ({ value }) => value.meters),
    reserve: (meters: Amounts, expiresIn?: number, key?: string) =>
      Effect.map(
        run(
          reservations.reserve({
            params,
            ...withKey(key),
            payload: { meters, ...(expiresIn === undefined ? {} : { expiresIn }) }
          })
        ),
        ({ value }) => value
      ),
    settle: (reservationId: string, meters: Amounts = {}, key?: string) =>
      Effect.map(
        run(reservations.settle({ params: { ...params, reservationId }, ...withKey(key), payload: { meters } })),
        (quotas) => quotas.meters
      ),
    release: (reservationId: string, key?: string) =>
      run(reservations.release({ params: { ...params, reservationId }, ...withKey(key) })),
    quotas: Effect.map(run(usage.quotas({ params })), ({ meters }) => meters),
    usedQuotas: Effect.map(run(usage.quotas({ params })), ({ meters }) =>
      Object.fromEntries(Object.entries(meters).map(([meter, quota]) => [meter, quota.used]))
    ),
    series: (step?: UsageStep, range: Range = {}) =>
      Effect.map(
        run(history.series({ params, query: { ...(step === undefined ? {} : { step }), ...parseRange(range) } })),
        formatSeries
      ),
    update: (payload: SubscriptionPatch) => subscriptions.update({ params, payload }),
    remove: subscriptions.remove({ params })
  }
})
export type UsedSubscription = Effect.Success<ReturnType<typeof useSubscription>>

let count = 0

/** A metering bucket with a plan. `subscribe` adds subscriptions to it. */
export const setUp = Effect.fnUntraced(function* (maxima: Amounts = { requests: 1_000_000, tokens: 1_000_000 }) {
  const [buckets, plans, subscriptions] = [yield* MeteringBuckets, yield* Plans, yield* Subscriptions]
  const [usage, history, customers] = [yield* Usage, yield* UsageHistory, yield* Customers]
  const { id: bucketId } = (yield* buckets.create({ payload: { accountName: AccountName.make("acme") } })).value
  const params = { bucketId }
  const toMeters = (amounts: Amounts) =>
    Object.fromEntries(Object.entries(amounts).map(([meter, max]) => [meter, { max }]))
  const createPlanWith = (planExternalId: string, meters: NonNullable<PlanPatch["meters"]>) =>
    Effect.map(
      plans.create({ params, payload: { label: planExternalId, planExternalId, meters } }),
      ({ value }) => value
    )
  const createPlan = (planExternalId: string, amounts: Amounts) => createPlanWith(planExternalId, toMeters(amounts))
  const plan = yield* createPlan("plan", maxima)
  return {
    bucketId,
    plan,
    createPlan,
    createPlanWith,
    updatePlan: (payload: PlanPatch) => plans.update({ params: { bucketId, planId: plan.id }, payload }),
    setMaxima: (amounts: Amounts) =>
      plans.update({ params: { bucketId, planId: plan.id }, payload: { meters: toMeters(amounts) } }),
    subscribe: Effect.fnUntraced(function* (fields: SubscriptionFields = {}) {
      const external = { subscriptionExternalId: `subscription-${++count}` }
      const payload = makeSubscription(plan.id, plan.planExternalId, { ...external, ...fields })
      const created = yield* subscriptions.create({ params, payload: payload as never })
      return yield* useSubscription(bucketId, created.value.id)
    }),
    record: (customerKey: string, meters: Amounts, key?: string) =>
      Effect.map(
        usage.record({
          params,
          ...(key === undefined ? {} : { headers: { idempotencyKey: key } }),
          payload: { customerKey, meters }
        }),
        (quotas) => quotas.meters
      ),
    adjust: (customerKey: string, meter: string, amount: number, occurredAt: number) =>
      customers.adjust({
        params: { bucketId, customerKey },
        payload: { meter, amount, reason: "test", occurredOn: DateTime.makeUnsafe(occurredAt) }
      }),
    totals: (range: Range = {}) => Effect.map(history.totals({ params, query: parseRange(range) }), formatSeries),
    /** What the subscriptions used in a month, without meters that were not used. */
    exported: (month: string) =>
      Effect.map(history.export({ params, query: { month, limit: 1_000, offset: 0 } }), ({ data }) => {
        const sums: Record<string, number> = {}
        for (const { meters } of data) {
          for (const [meter, amount] of Object.entries(meters)) {
            if (amount !== 0) sums[meter] = (sums[meter] ?? 0) + amount
          }
        }
        return sums
      }),
    removeBucket: buckets.remove({ params })
  }
})

export const setTime = (text: string) => TestClock.setTime(Date.parse(text))

/** Makes a function that runs a test with a store and services of its own, from a time on: their clocks do not go back. */
export const startOn =
  <Services>(store: Layer.Layer<Store | Services, unknown>) =>
  (time: string, options: Partial<Omit<ServiceOptions, "modules">> = {}) =>
  <A, E, R>(test: Effect.Effect<A, E, R>) =>
    Effect.andThen(
      setTime(time),
      Effect.provide(test, Tollgate.layer({ secret, ...options }).pipe(Layer.provideMerge(Layer.fresh(store))))
    )

/** Starts the services of another process on the same store: with caches of their own, and a clock that may be ahead. */
export const startProcess = Effect.fnUntraced(function* (aheadMs = 0) {
  const clock = shiftClock(yield* Clock.Clock, aheadMs)
  const context = yield* Layer.build(Layer.fresh(Tollgate.layer({ secret })))
  return (bucketId: string, subscriptionId: string) =>
    Effect.provideContext(useSubscription(bucketId, subscriptionId, clock), context)
})
