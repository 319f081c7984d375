/**
 * A simple model of metered usage as plain data: every count with its time, and the open reservations. For each
 * operation it predicts the new state or the possible errors; from the state it computes all that can be read.
 */
import { printStatus } from "./printStatus.ts"
import { type Meters, otherMaxima, toOtherPlan } from "./usageGate.ts"
import { dayMs, getEarliest, getEarliestPeriod, hourMs, toName, type UsageReadings } from "./usageReadings.ts"

export interface Count {
  readonly subscription: string
  readonly meter: string
  readonly amount: number
  /** In epoch milliseconds. */
  readonly at: number
}

export interface OpenReservation {
  /** Unknown if the reply was lost. */
  readonly id: string | undefined
  readonly subscription: string
  readonly meters: Meters
  readonly madeAt: number
  readonly expiresAt: number
}

/** How a reservation has ended. */
interface Ending {
  readonly kind: "settled" | "expired" | "counted-late"
  readonly at: number
  readonly reservation: OpenReservation
}

/** What a subscription changes to at the end of its period. */
interface PendingChange {
  readonly at: number
  readonly plan?: string
  readonly status?: "canceled"
}

export interface UsageModel {
  /** The maxima of each plan, by meter. Each subscription has one of its own, with its name, and may change to another. */
  readonly maxima: Readonly<Record<string, Meters>>
  /** The plan of each subscription. */
  readonly plans: Readonly<Record<string, string>>
  readonly statuses: Readonly<Record<string, "active" | "canceled">>
  readonly canceledAt: Readonly<Record<string, number | undefined>>
  readonly pending: Readonly<Record<string, PendingChange | undefined>>
  readonly counts: ReadonlyArray<Count>
  readonly open: ReadonlyArray<OpenReservation>
  readonly ended: ReadonlyMap<string, Ending>
}

/** The state after an operation, or the errors with which it may fail. */
export type Prediction = UsageModel | ReadonlyArray<string>

export const isErrorList = (prediction: Prediction): prediction is ReadonlyArray<string> => Array.isArray(prediction)

export const makeModel = (maxima: UsageModel["maxima"]): UsageModel => ({
  maxima: {
    ...maxima,
    ...Object.fromEntries(Object.keys(maxima).map((name) => [toOtherPlan(name), otherMaxima]))
  },
  plans: Object.fromEntries(Object.keys(maxima).map((name) => [name, name])),
  statuses: Object.fromEntries(Object.keys(maxima).map((name) => [name, "active"])),
  canceledAt: {},
  pending: {},
  counts: [],
  open: [],
  ended: new Map()
})

/** Periods start on the 15th of a month, but with an hour for `calls`, and with a day for `jobs`. */
const getPeriodStart = (meter: string, at: number): number => {
  if (meter === "calls") return getHourStart(at)
  if (meter === "jobs") return getDayStart(at)
  const date = new Date(at)
  const isBefore = date.getUTCDate() < 15
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - (isBefore ? 1 : 0), 15)
}
const getHourStart = (at: number): number => Math.floor(at / hourMs) * hourMs
const getDayStart = (at: number): number => Math.floor(at / dayMs) * dayMs

const end = (model: UsageModel, reservation: OpenReservation, ending: Omit<Ending, "reservation">): UsageModel => ({
  ...model,
  open: model.open.filter((other) => other !== reservation),
  ended:
    reservation.id === undefined ? model.ended : new Map([...model.ended, [reservation.id, { ...ending, reservation }]])
})

/** The end of the period of a subscription. */
export const getPeriodEnd = (at: number): number => {
  const start = new Date(getPeriodStart("requests", at))
  return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 15)
}

const setStatus = (model: UsageModel, name: string, status: "active" | "canceled", at: number): UsageModel => {
  const canceledAt = status === "active" ? undefined : (model.canceledAt[name] ?? at)
  return {
    ...model,
    statuses: { ...model.statuses, [name]: status },
    canceledAt: { ...model.canceledAt, [name]: canceledAt }
  }
}

const setPlan = (model: UsageModel, name: string, plan: string): UsageModel => ({
  ...model,
  plans: { ...model.plans, [name]: plan }
})

const setPending = (model: UsageModel, name: string, change?: PendingChange): UsageModel => ({
  ...model,
  pending: { ...model.pending, [name]: change }
})

const change = (model: UsageModel, name: string): UsageModel => {
  const { at = 0, plan, status } = model.pending[name] ?? {}
  const changed = plan === undefined ? model : setPlan(model, name, plan)
  return setPending(status === undefined ? changed : setStatus(changed, name, status, at), name)
}

/** What happens by itself: reservations expire, and pending changes act. */
export const expire = (model: UsageModel, now: number): UsageModel => {
  const changed = Object.entries(model.pending)
    .filter(([, change]) => change !== undefined && change.at <= now)
    .reduce((rest, [name]) => change(rest, name), model)
  return changed.open
    .filter(({ expiresAt }) => expiresAt <= now)
    .reduce((rest, reservation) => end(rest, reservation, { kind: "expired", at: reservation.expiresAt }), changed)
}

/** An update of the status withdraws a pending change. */
export const predictStatus = (
  model: UsageModel,
  name: string,
  status: "active" | "canceled",
  now: number
): UsageModel => setPending(setStatus(model, name, status, now), name)

/** Whether a customer can return to its subscription: it was canceled in the present period. */
export const canReturn = ({ statuses, canceledAt }: UsageModel, name: string, now: number): boolean =>
  statuses[name] === "canceled" && getPeriodStart("requests", canceledAt[name] ?? 0) === getPeriodStart("requests", now)

/** Changes the plan, or returns to the subscription with this plan. */
export const predictChangePlan = (
  model: UsageModel,
  name: string,
  plan: string,
  at: "now" | "period-end",
  now: number
): UsageModel => {
  if (model.statuses[name] === "canceled") return setPlan(predictStatus(model, name, "active", now), name, plan)
  if (at === "now") return setPending(setPlan(model, name, plan), name)
  return setPending(model, name, plan === model.plans[name] ? undefined : { at: getPeriodEnd(now), plan })
}

export const predictCancel = (model: UsageModel, name: string, at: "now" | "period-end", now: number): Prediction => {
  if (model.statuses[name] === "canceled") return ["SubscriptionNotActive"]
  return at === "now"
    ? predictStatus(model, name, "canceled", now)
    : setPending(model, name, { at: getPeriodEnd(now), status: "canceled" })
}

export const predictWithdraw = (model: UsageModel, name: string): Prediction =>
  model.pending[name] === undefined ? ["PendingChangeNotFound"] : setPending(model, name)

const getMaxima = ({ maxima, plans }: UsageModel, name: string): Meters => maxima[plans[name] ?? name] ?? {}

export const addCounts = (model: UsageModel, subscription: string, meters: Meters, at: number): UsageModel => ({
  ...model,
  counts: [
    ...model.counts,
    ...Object.entries(meters).flatMap(([meter, amount]) => (amount === 0 ? [] : [{ subscription, meter, amount, at }]))
  ]
})

const sum = (amounts: ReadonlyArray<number>): number => amounts.reduce((total, amount) => total + amount, 0)

/** What is used in the period of a time, without what is reserved. */
const getSettled = ({ counts }: UsageModel, subscription: string, meter: string, at: number): number => {
  const period = getPeriodStart(meter, at)
  const isIn = (count: Count) => count.subscription === subscription && count.meter === meter
  return sum(
    counts.filter((count) => isIn(count) && getPeriodStart(meter, count.at) === period).map(({ amount }) => amount)
  )
}

/** What is used or reserved in the period of a time. */
const getUsed = (model: UsageModel, subscription: string, meter: string, at: number): number => {
  const period = getPeriodStart(meter, at)
  const isIn = ({ subscription: other, madeAt }: OpenReservation) =>
    other === subscription && getPeriodStart(meter, madeAt) === period
  return (
    getSettled(model, subscription, meter, at) + sum(model.open.filter(isIn).map(({ meters }) => meters[meter] ?? 0))
  )
}

/** Why meters cannot be counted, or `undefined` if they can. */
const findRefusal = (
  model: UsageModel,
  subscription: string,
  meters: Meters,
  { now, isLimited }: { readonly now: number; readonly isLimited: boolean }
): string | undefined => {
  const maxima = getMaxima(model, subscription)
  if (model.statuses[subscription] !== "active") return "SubscriptionNotActive"
  if (Object.keys(meters).some((meter) => !(meter in maxima))) return "UnknownMeter"
  const isOver = ([meter, amount]: readonly [string, number]) =>
    getUsed(model, subscription, meter, now) + amount > (maxima[meter] ?? 0)
  return isLimited && Object.entries(meters).some(isOver) ? "QuotaExceeded" : undefined
}

export const predictConsume = (model: UsageModel, subscription: string, meters: Meters, now: number): Prediction => {
  const refusal = findRefusal(model, subscription, meters, { now, isLimited: true })
  return refusal === undefined ? addCounts(model, subscription, meters, now) : [refusal]
}

export const predictRecord = (model: UsageModel, subscription: string, meters: Meters, now: number): Prediction => {
  const refusal = findRefusal(model, subscription, meters, { now, isLimited: false })
  return refusal === undefined ? addCounts(model, subscription, meters, now) : [refusal]
}

export const predictAdjust = (
  model: UsageModel,
  subscription: string,
  meter: string,
  amount: number,
  now: number
): Prediction => {
  const refusal = findRefusal(model, subscription, { [meter]: amount }, { now, isLimited: false })
  if (refusal !== undefined) return [refusal]
  const isBelowZero = getSettled(model, subscription, meter, now) + amount < 0
  return isBelowZero ? ["BelowZero"] : addCounts(model, subscription, { [meter]: amount }, now)
}

export const predictReserve = (model: UsageModel, reservation: OpenReservation): Prediction => {
  const { subscription, meters, madeAt: now } = reservation
  const refusal = findRefusal(model, subscription, meters, { now, isLimited: true })
  return refusal === undefined ? { ...model, open: [...model.open, reservation] } : [refusal]
}

/** Ends a reservation at what was used, which counts when the reservation was made. */
export const predictEnd = (model: UsageModel, id: string, used: Meters, now: number): Prediction => {
  const reservation = model.open.find((other) => other.id === id)
  if (reservation !== undefined) {
    const isTooMuch = Object.entries(used).some(([meter, amount]) => amount > (reservation.meters[meter] ?? 0))
    if (isTooMuch) return ["InvalidInput"]
    const settled = end(model, reservation, { kind: "settled", at: now })
    return addCounts(settled, reservation.subscription, used, reservation.madeAt)
  }
  const ending = model.ended.get(id)
  if (ending === undefined) return ["ReservationNotFound"]
  const error = ending.kind === "settled" ? "ReservationSettled" : "ReservationExpired"
  // Endings are remembered for a day, by the clock of the store.
  return now - ending.at >= dayMs ? [error, "ReservationNotFound"] : [error]
}

/** Charges a request: in the hour in which it came in, or now if its reservation has expired. Only once. */
export const predictCharge = (model: UsageModel, id: string, now: number): Prediction => {
  const reservation = model.open.find((other) => other.id === id)
  if (reservation !== undefined) return predictEnd(model, id, reservation.meters, now)
  const ending = model.ended.get(id)
  if (ending?.kind !== "expired") return model
  const { subscription, meters } = ending.reservation
  if (Object.keys(meters).some((meter) => !(meter in getMaxima(model, subscription)))) return ["UnknownMeter"]
  const counted = addCounts(model, subscription, meters, now)
  return { ...counted, ended: new Map([...model.ended, [id, { ...ending, kind: "counted-late", at: now }]]) }
}

/** Charges a request whose reservation has expired but was not given back yet: in the hour in which it came in. */
export const predictUnexpiredCharge = (model: UsageModel, id: string, now: number): UsageModel => {
  const ending = model.ended.get(id)
  if (ending?.kind !== "expired") return model
  const { subscription, meters, madeAt } = ending.reservation
  const counted = addCounts(model, subscription, meters, madeAt)
  return { ...counted, ended: new Map([...model.ended, [id, { ...ending, kind: "settled", at: now }]]) }
}

export const predictReleaseRequest = (model: UsageModel, id: string, now: number): Prediction =>
  model.open.some((other) => other.id === id) ? predictEnd(model, id, {}, now) : model

const sumBy = (counts: ReadonlyArray<Count>, getName: (count: Count) => string): Readonly<Record<string, number>> => {
  const sums: Record<string, number> = {}
  for (const count of counts) sums[getName(count)] = (sums[getName(count)] ?? 0) + count.amount
  return Object.fromEntries(Object.entries(sums).filter(([, amount]) => amount !== 0))
}

/** All that Tollgate should say about the usage at a time. */
export const toReadings = (before: UsageModel, now: number): UsageReadings => {
  const model = expire(before, now)
  const earliest = getEarliest(now)
  const hours = model.counts.filter(({ at }) => getHourStart(at) >= earliest.hour)
  const days = model.counts.filter(({ at }) => getDayStart(at) >= earliest.day)
  const periods = model.counts.filter(({ meter, at }) => at >= getEarliestPeriod(meter, now))
  return {
    statuses: Object.fromEntries(
      Object.entries(model.statuses).map(([name, status]) => [name, printStatus(status, model.pending[name])])
    ),
    quotas: Object.fromEntries(
      Object.keys(model.plans).flatMap((subscription) =>
        Object.entries(getMaxima(model, subscription)).map(([meter, max]) => [
          toName(subscription, meter),
          [max, getUsed(model, subscription, meter, now)] as const
        ])
      )
    ),
    hours: sumBy(hours, ({ subscription, meter, at }) => toName(subscription, meter, getHourStart(at))),
    days: sumBy(days, ({ subscription, meter, at }) => toName(subscription, meter, getDayStart(at))),
    periods: sumBy(periods, ({ subscription, meter, at }) => toName(subscription, meter, getPeriodStart(meter, at))),
    totals: sumBy(days, ({ meter, at }) => toName("all", meter, getDayStart(at)))
  }
}
