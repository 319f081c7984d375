/**
 * The services that count usage, over a store and a clock that the test moves. Worker processes import this file.
 */
import {
  AccountName,
  Customers,
  MeteringBuckets,
  Plans,
  Reservations,
  Subscriptions,
  Tollgate,
  Usage,
  UsageHistory
} from "@tollgate/core/effect"
import { Store, type StoreOperations } from "@tollgate/store"
import { makeSubscription } from "@tollgate/testing"
import { Clock, DateTime, Effect, Exit, Layer, Scope } from "effect"
import { printStatus } from "./printStatus.ts"

export type Meters = Readonly<Record<string, number>>

export interface MovableClock extends Clock.Clock {
  /** Moves the clock to a time in epoch milliseconds. */
  readonly set: (millis: number) => void
}

/** A clock that stands still until it is moved. Pauses between retries take real time. */
export const makeMovableClock = (start: number): MovableClock => {
  let now = start
  const readNanos = () => BigInt(now) * 1_000_000n
  const realClock = Clock.Clock.defaultValue()
  return {
    set: (millis) => {
      now = millis
    },
    currentTimeMillisUnsafe: () => now,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanosUnsafe: readNanos,
    currentTimeNanos: Effect.sync(readNanos),
    monotonicTimeNanosUnsafe: readNanos,
    monotonicTimeNanos: Effect.sync(readNanos),
    sleep: (duration) => realClock.sleep(duration)
  }
}

const account = AccountName.make("acme")

/** Two hours before the end of a day and of a period. */
export const start = Date.UTC(2030, 0, 14, 22)
/** Periods start on the 15th of a month. */
const quotaResetAnchor = DateTime.makeUnsafe(Date.UTC(2029, 11, 15))

/** A subscription, with the plan and the customer that only it has. */
export interface MeteredSubscription {
  readonly id: string
  readonly planId: string
  readonly customerKey: string
}

export type UsageGate = Effect.Success<typeof makeGate>
/** The reservation of a request that is charged if it succeeds. */
export type RequestReservation = Parameters<Reservations["Service"]["settleRequest"]>[1]

class RequestRefused extends Error {
  readonly _tag = "SubscriptionNotActive"
}

interface CallOptions {
  readonly idempotencyKey?: string | undefined
}

const makeGate = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const [buckets, plans, subscriptions] = [yield* MeteringBuckets, yield* Plans, yield* Subscriptions]
  const [usage, reservations, history] = [yield* Usage, yield* Reservations, yield* UsageHistory]
  const customers = yield* Customers
  const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> =>
    Effect.runPromise(Effect.provideService(effect, Clock.Clock, clock))
  const toHeaders = ({ idempotencyKey }: CallOptions) => (idempotencyKey === undefined ? {} : { idempotencyKey })

  return {
    createBucket: async (): Promise<string> =>
      (await run(buckets.create({ payload: { accountName: account } }))).value.id,
    subscribe: (bucketId: string, customerKey: string, maxima: Meters): Promise<MeteredSubscription> =>
      run(
        Effect.gen(function* () {
          const meters = toPlanMeters(maxima)
          const payload = { label: customerKey, planExternalId: customerKey, meters }
          const { value: plan } = yield* plans.create({ params: { bucketId }, payload })
          const other = toOtherPlan(customerKey)
          const otherPayload = { label: other, planExternalId: other, meters: toPlanMeters(otherMaxima) }
          yield* plans.create({ params: { bucketId }, payload: otherPayload })
          const fields = { customerKey, subscriptionExternalId: customerKey, quotaResetAnchor }
          const subscription = makeSubscription(plan.id, customerKey, fields)
          const { value } = yield* subscriptions.create({ params: { bucketId }, payload: subscription })
          return { id: value.id, planId: plan.id, customerKey }
        })
      ),
    setMaxima: (bucketId: string, { planId }: MeteredSubscription, maxima: Meters) =>
      run(plans.update({ params: { bucketId, planId }, payload: { meters: toPlanMeters(maxima) } })),
    setStatus: (bucketId: string, { id }: MeteredSubscription, status: "active" | "canceled") =>
      run(subscriptions.update({ params: { bucketId, subscriptionId: id }, payload: { status } })),
    readStatus: async (bucketId: string, { id }: MeteredSubscription): Promise<string> => {
      const { status, pendingChange } = (await run(subscriptions.get({ params: { bucketId, subscriptionId: id } })))
        .value
      if (pendingChange === undefined) return status
      const { effectiveOn, planExternalIds, status: later } = pendingChange
      const at = DateTime.toEpochMillis(effectiveOn)
      return printStatus(status, {
        at,
        ...(planExternalIds === undefined ? {} : { plan: planExternalIds.join() }),
        ...(later === undefined ? {} : { status: later })
      })
    },
    changePlan: (
      bucketId: string,
      { customerKey }: MeteredSubscription,
      plan: string,
      at: "now" | "period-end",
      options: CallOptions = {}
    ) => {
      const payload = { planExternalIds: [plan], at }
      return run(customers.changePlan({ params: { bucketId, customerKey }, headers: toHeaders(options), payload }))
    },
    cancel: (
      bucketId: string,
      { customerKey }: MeteredSubscription,
      at: "now" | "period-end",
      options: CallOptions = {}
    ) => run(customers.cancel({ params: { bucketId, customerKey }, headers: toHeaders(options), payload: { at } })),
    withdrawPendingChange: (bucketId: string, { customerKey }: MeteredSubscription) =>
      run(customers.withdrawPendingChange({ params: { bucketId, customerKey } })),
    /** Creates another subscription of the customer, which continues the usage of the one that was canceled. */
    continueUsage: async (
      bucketId: string,
      { planId, customerKey }: MeteredSubscription,
      plan: string,
      options: CallOptions = {}
    ) => {
      const { data } = await run(plans.list({ params: { bucketId }, query: { limit: 100, offset: 0 } }))
      const id = data.find(({ planExternalId }) => planExternalId === plan)?.id ?? planId
      const fields = { customerKey, subscriptionExternalId: crypto.randomUUID() }
      const payload = { ...makeSubscription(id, plan, fields), continueUsage: true }
      await run(subscriptions.create({ params: { bucketId }, headers: toHeaders(options), payload }))
    },
    /** The newest subscription of the customer. */
    findNewest: async (bucketId: string, subscription: MeteredSubscription): Promise<MeteredSubscription> => {
      const { customerKey } = subscription
      const [newest] = (await run(customers.get({ params: { bucketId, customerKey } }))).subscriptions
      return { ...subscription, id: newest?.id ?? subscription.id }
    },

    consume: (bucketId: string, { id }: MeteredSubscription, meters: Meters, options: CallOptions = {}) =>
      run(
        usage.consume({ params: { bucketId, subscriptionId: id }, headers: toHeaders(options), payload: { meters } })
      ),
    consumeForCustomer: (
      bucketId: string,
      { customerKey }: MeteredSubscription,
      meters: Meters,
      options: CallOptions = {}
    ) =>
      run(customers.consume({ params: { bucketId, customerKey }, headers: toHeaders(options), payload: { meters } })),
    /** Adds to what was used now, or takes it back. */
    adjust: (
      bucketId: string,
      { customerKey }: MeteredSubscription,
      meter: string,
      amount: number,
      options: CallOptions = {}
    ) => {
      const payload = { meter, amount, reason: "test" }
      return run(customers.adjust({ params: { bucketId, customerKey }, headers: toHeaders(options), payload }))
    },
    record: (bucketId: string, { customerKey }: MeteredSubscription, meters: Meters, options: CallOptions = {}) =>
      run(usage.record({ params: { bucketId }, headers: toHeaders(options), payload: { customerKey, meters } })),
    /** Returns the id of the reservation. */
    reserve: async (
      bucketId: string,
      { id }: MeteredSubscription,
      input: { readonly meters: Meters; readonly expiresIn: number },
      options: CallOptions = {}
    ): Promise<string> => {
      const params = { bucketId, subscriptionId: id }
      return (await run(reservations.reserve({ params, headers: toHeaders(options), payload: input }))).value.id
    },
    settle: (
      bucketId: string,
      { id }: MeteredSubscription,
      reservationId: string,
      meters: Meters,
      options: CallOptions = {}
    ) => {
      const params = { bucketId, subscriptionId: id, reservationId }
      return run(reservations.settle({ params, headers: toHeaders(options), payload: { meters } }))
    },
    release: (
      bucketId: string,
      { id }: MeteredSubscription,
      reservationId: string,
      options: CallOptions = {}
    ): Promise<void> =>
      run(
        reservations.release({ params: { bucketId, subscriptionId: id, reservationId }, headers: toHeaders(options) })
      ),

    /** Reserves for a request that is charged if it succeeds. */
    reserveForRequest: async (bucketId: string, { customerKey }: MeteredSubscription, amounts: Meters) => {
      const request = { amounts, rateLimitTakes: [] }
      const result = await run(reservations.reserveForCustomer(account, bucketId, customerKey, request))
      if (typeof result === "string" || result.reservation === undefined) throw new RequestRefused()
      return result.reservation
    },
    chargeRequest: (bucketId: string, entry: RequestReservation) =>
      run(reservations.settleRequest(bucketId, entry, entry.value.meters)),
    releaseRequest: (bucketId: string, entry: RequestReservation) => run(reservations.releaseRequest(bucketId, entry)),

    quotas: (bucketId: string, { id }: MeteredSubscription) =>
      run(usage.quotas({ params: { bucketId, subscriptionId: id } })),
    series: (
      bucketId: string,
      { id }: MeteredSubscription,
      step: "hour" | "day" | "period",
      from: number,
      meter?: string
    ) => {
      const query = { step, from: DateTime.makeUnsafe(from), ...(meter === undefined ? {} : { meter }) }
      return run(history.series({ params: { bucketId, subscriptionId: id }, query }))
    },
    totals: (bucketId: string, from: number) =>
      run(history.totals({ params: { bucketId }, query: { from: DateTime.makeUnsafe(from) } }))
  }
})

/** The plan that a subscription may change to, beside its own. */
export const toOtherPlan = (name: string): string => `${name}-other`
export const otherMaxima: Meters = { tokens: 300, calls: 30, jobs: 50 }

/** The meters that have another period than the subscription. */
export const otherPeriods = new Map([
  ["calls", "hour"],
  ["jobs", "day"]
] as const)

const toPlanMeters = (maxima: Meters) =>
  Object.fromEntries(
    Object.entries(maxima).map(([meter, max]) => {
      const period = meter === "calls" || meter === "jobs" ? otherPeriods.get(meter) : undefined
      return [meter, period === undefined ? { max } : { max, period }]
    })
  )

/** Opens the services with caches of their own. `close` stops their background work, and leaves the store open. */
export const openUsageGate = async (store: StoreOperations, clock: Clock.Clock, secret: string) => {
  const scope = Scope.makeUnsafe()
  const services = Tollgate.layer({ secret }).pipe(Layer.provide(Layer.succeed(Store, store)))
  const build = Effect.flatMap(Layer.buildWithScope(services, scope), (context) =>
    Effect.provideContext(makeGate, context)
  )
  const gate = await Effect.runPromise(Effect.provideService(build, Clock.Clock, clock))
  return { ...gate, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}
