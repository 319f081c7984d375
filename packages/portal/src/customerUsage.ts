/**
 * What a customer uses, and may use, in its metering bucket.
 */
import { ApiKeys, Customers, MeteringBuckets, Plans, type Subscription, type UsageSeries } from "@tollgate/core/effect"
import {
  type AccountName,
  type ConsumerName,
  findConsumer,
  implementOperations,
  invalidParameter,
  type KeyBucket,
  omitUndefined,
  Store
} from "@tollgate/core/module"
import { DecisionLog } from "@tollgate/decisions"
import { DateTime, Effect } from "effect"
import { findMeteringBucketId } from "./meteringBuckets.ts"
import { PortalApi } from "./PortalApi.ts"
import { PortalSessions } from "./PortalSessions.ts"
import type { PortalQuotas, PortalRefusals, PortalUsage } from "./PortalUsage.ts"
import type { PortalOptions } from "./portalOptions.ts"

type Owner = KeyBucket & { readonly accountName: AccountName; readonly consumerName: ConsumerName }
type UsedSubscription = typeof Subscription.Type

const monthsByDefault = 12
/** As many as Tollgate keeps of a consumer. */
const maxRefusals = 100
/** Whose use is shown by itself. */
const maxKeys = 1_000

const mayConsume = ({ status }: UsedSubscription): boolean => ["active", "trialing", "past-due"].includes(status)

const startOfMonth = (time: DateTime.Utc): DateTime.Utc => DateTime.startOf(time, "month")

type Step = PortalUsage["data"][number]
type Amounts = Step["meters"]

const addUp = (all: ReadonlyArray<Amounts>): Amounts => {
  const sums = new Map<string, number>()
  for (const amounts of all) {
    for (const [meter, amount] of Object.entries(amounts)) sums.set(meter, (sums.get(meter) ?? 0) + amount)
  }
  return Object.fromEntries(sums)
}

/** Adds up what each key used in several steps. */
const addUpKeys = (steps: ReadonlyArray<Step>): NonNullable<Step["keys"]> =>
  [
    ...Map.groupBy(
      steps.flatMap(({ keys = [] }) => keys),
      ({ keyId }) => keyId
    ).values()
  ].flatMap((ofKey) => ofKey.slice(0, 1).map((key) => ({ ...key, meters: addUp(ofKey.map(({ meters }) => meters)) })))

/** Adds up the days of each month. */
const toMonths = (days: PortalUsage["data"]): PortalUsage["data"] => {
  const months = Map.groupBy(days, ({ start }) => startOfMonth(start).epochMilliseconds)
  return [...months].map(([start, ofMonth]) => {
    const [first] = ofMonth
    return {
      start: DateTime.makeUnsafe(start),
      end: DateTime.add(DateTime.makeUnsafe(start), { months: 1 }),
      meters: addUp(ofMonth.map(({ meters }) => meters)),
      ...(first?.keys && { keys: addUpKeys(ofMonth), rest: addUp(ofMonth.map(({ rest = {} }) => rest)) })
    }
  })
}

type UsageStep = (typeof UsageSeries.Type)["data"][number]

/** What the keys of a customer used. Those of others of the same `customerKey` are not named. */
const toPortalStep =
  ({ bucketName }: KeyBucket, names: ReadonlyMap<string, string | undefined>) =>
  ({ start, end, meters, groups = [], other = {}, unknown = {} }: UsageStep): Step => {
    const own = groups.filter(({ keyId = "", keyBucketName }) => keyBucketName === bucketName && names.has(keyId))
    const others = groups.filter((group) => !own.includes(group))
    return {
      start,
      end,
      meters,
      keys: own.map(({ keyId = "", meters }) => ({ keyId, ...omitUndefined({ name: names.get(keyId) }), meters })),
      rest: addUp([...others.map(({ meters }) => meters), other, unknown])
    }
  }

const isSameLimit = (one: PortalRefusals["data"][number], other: PortalRefusals["data"][number]): boolean =>
  one.reason === other.reason && one.limit === other.limit && one.meter === other.meter

/** The customer of a consumer: in which metering bucket it uses something, and under which key. */
export const makeFindCustomer = ({ meteringBucket }: PortalOptions) =>
  Effect.gen(function* () {
    const store = yield* Store
    const meteringBuckets = yield* MeteringBuckets
    const sessions = yield* PortalSessions
    return Effect.fnUntraced(
      function* (owner: Owner) {
        const { value: consumer } = yield* findConsumer(owner, owner.consumerName)
        const session = yield* sessions.current
        const nameOrId = session?.meteringBucketId ?? meteringBucket
        // An account without the metering bucket of the module has no usage.
        const bucketId =
          nameOrId === undefined
            ? undefined
            : yield* findMeteringBucketId(meteringBuckets, owner.accountName, nameOrId).pipe(
                Effect.catchTag("MeteringBucketNotFound", () => Effect.succeed(undefined))
              )
        return { session, bucketId, customerKey: consumer.customerKey ?? consumer.name }
      },
      Effect.provideService(Store, store)
    )
  })

export const makeCustomerUsage = (options: PortalOptions) =>
  Effect.gen(function* () {
    const store = yield* Store
    const customers = yield* Customers
    const plans = yield* Plans
    const keys = yield* ApiKeys
    const decisions = yield* DecisionLog
    const findCustomer = yield* makeFindCustomer(options)

    /** What the plans of the customer say of their meters. */
    const readMeters = Effect.fnUntraced(function* (bucketId: string, subscriptions: ReadonlyArray<UsedSubscription>) {
      const planIds = new Set(subscriptions.filter(mayConsume).flatMap(({ planIds }) => planIds))
      const found = yield* Effect.forEach(planIds, (planId) =>
        plans.get({ params: { bucketId, planId } }).pipe(
          Effect.map(({ value }) => [value]),
          Effect.catchTag("PlanNotFound", () => Effect.succeed([]))
        )
      )
      return found.flat().flatMap(({ meters }) => Object.entries(meters))
    })

    /** The names of the keys of a customer. */
    const readNames = Effect.fnUntraced(function* (params: Owner) {
      const query = { limit: maxKeys, offset: 0 }
      const { data } = yield* keys.list({ params, query }).pipe(Effect.catchTag("KeyNotRetained", Effect.die))
      return new Map(data.map(({ id, description }) => [id as string, description]))
    })

    return implementOperations(PortalApi, { store })({
      quotas: Effect.fnUntraced(function* ({ params }) {
        const { bucketId, customerKey } = yield* findCustomer(params)
        if (bucketId === undefined) return { data: [] }
        const read = Effect.gen(function* () {
          const { meters, subscriptions } = yield* customers.get({ params: { bucketId, customerKey } })
          const described = yield* readMeters(bucketId, subscriptions)
          const overrides = subscriptions
            .filter(mayConsume)
            .flatMap(({ overrides }) => (overrides?.meters === undefined ? [] : [overrides.meters]))
          const data = Object.entries(meters).map(([meter, { remaining, credit, overage, allowance }]) => {
            const ofPlans = described.filter(([name]) => name === meter).map(([, limit]) => limit)
            const overridden = overrides.find((limits) => limits[meter]?.isSoftLimit !== undefined)
            const isSoft = overridden?.[meter]?.isSoftLimit ?? ofPlans.some(({ isSoftLimit }) => isSoftLimit === true)
            const { max, used, periodStart, resetsOn } = allowance
            return {
              meter,
              max,
              used,
              remaining,
              periodStart,
              ...omitUndefined({
                label: ofPlans.find(({ label }) => label !== undefined)?.label,
                credit,
                overage: overage === 0 ? undefined : overage,
                isSoftLimit: isSoft || undefined,
                resetsOn
              })
            }
          })
          return { data } satisfies PortalQuotas
        })
        return yield* Effect.catchTag(read, "CustomerNotFound", () => Effect.succeed({ data: [] }))
      }),

      usage: Effect.fnUntraced(function* ({ params, query: { step = "day" as const, from, to, groupBy } = {} }) {
        const { bucketId, customerKey, session } = yield* findCustomer(params)
        if (groupBy !== undefined && session !== undefined && !session.allow.includes("keys:read")) {
          return yield* invalidParameter("groupBy", "needs keys:read, which this session does not allow")
        }
        const none: PortalUsage = { step, data: [] }
        if (bucketId === undefined) return none
        const last = to ?? (yield* DateTime.now)
        const start =
          step === "day" ? from : startOfMonth(from ?? DateTime.subtract(last, { months: monthsByDefault - 1 }))
        const query = omitUndefined({ step: "day" as const, from: start, to, groupBy })
        const names = groupBy === undefined ? new Map() : yield* readNames(params)
        return yield* customers.series({ params: { bucketId, customerKey }, query }).pipe(
          Effect.map(({ data }) => (groupBy === undefined ? data : data.map(toPortalStep(params, names)))),
          Effect.map((data): PortalUsage => ({ step, data: step === "day" ? data : toMonths(data) })),
          Effect.catchTags({ CustomerNotFound: () => Effect.succeed(none), UnknownMeter: Effect.die })
        )
      }),

      refusals: Effect.fnUntraced(function* ({ params }) {
        const { data, kept } = yield* decisions.listOfConsumer({ params, query: { limit: maxRefusals, offset: 0 } })
        const today = DateTime.startOf(yield* DateTime.now, "day")
        const groups: Array<PortalRefusals["data"][number]> = []
        for (const { reason, limit, meter, count, on } of data) {
          const ofToday = DateTime.isGreaterThanOrEqualTo(on, today) ? count : 0
          const refusal = { reason, ...omitUndefined({ limit, meter }), count, today: ofToday, lastOn: on }
          const index = groups.findIndex((group) => isSameLimit(group, refusal))
          const group = groups[index]
          // The latest come first.
          if (group === undefined) groups.push(refusal)
          else groups[index] = { ...group, count: group.count + count, today: group.today + ofToday }
        }
        return { data: groups, since: kept.since }
      })
    })
  })
