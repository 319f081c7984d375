/**
 * A simple model of metered usage as plain data: every count with its time, and the open reservations. For each
 * operation it predicts the new state or the possible errors; from the state it computes all that can be read.
 */
import type { Meters } from "./usageGate.ts"
import { dayMs, getEarliest, hourMs, toName, type UsageReadings } from "./usageReadings.ts"

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

export interface UsageModel {
  /** The maxima of each subscription's plan, by meter. */
  readonly maxima: Readonly<Record<string, Meters>>
  readonly statuses: Readonly<Record<string, "active" | "canceled">>
  readonly counts: ReadonlyArray<Count>
  readonly open: ReadonlyArray<OpenReservation>
  readonly ended: ReadonlyMap<string, Ending>
}

/** The state after an operation, or the errors with which it may fail. */
export type Prediction = UsageModel | ReadonlyArray<string>

export const isErrorList = (prediction: Prediction): prediction is ReadonlyArray<string> => Array.isArray(prediction)

export const makeModel = (maxima: UsageModel["maxima"]): UsageModel => ({
  maxima,
  statuses: Object.fromEntries(Object.keys(maxima).map((name) => [name, "active"])),
  counts: [],
  open: [],
  ended: new Map()
})

/** Periods start on the 15th of a month. */
const getPeriodStart = (at: number): number => {
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

/** Gives back the reservations that have expired. */
export const expire = (model: UsageModel, now: number): UsageModel =>
  model.open
    .filter(({ expiresAt }) => expiresAt <= now)
    .reduce((rest, reservation) => end(rest, reservation, { kind: "expired", at: reservation.expiresAt }), model)

export const addCounts = (model: UsageModel, subscription: string, meters: Meters, at: number): UsageModel => ({
  ...model,
  counts: [
    ...model.counts,
    ...Object.entries(meters).flatMap(([meter, amount]) => (amount === 0 ? [] : [{ subscription, meter, amount, at }]))
  ]
})

const sum = (amounts: ReadonlyArray<number>): number => amounts.reduce((total, amount) => total + amount, 0)

/** What is used or reserved in the period of a time. */
const getUsed = ({ counts, open }: UsageModel, subscription: string, meter: string, at: number): number => {
  const period = getPeriodStart(at)
  const isIn = (other: { readonly subscription: string }, madeAt: number) =>
    other.subscription === subscription && getPeriodStart(madeAt) === period
  return (
    sum(counts.filter((count) => count.meter === meter && isIn(count, count.at)).map(({ amount }) => amount)) +
    sum(open.filter((other) => isIn(other, other.madeAt)).map(({ meters }) => meters[meter] ?? 0))
  )
}

/** Why meters cannot be counted, or `undefined` if they can. */
const findRefusal = (
  model: UsageModel,
  subscription: string,
  meters: Meters,
  { now, isLimited }: { readonly now: number; readonly isLimited: boolean }
): string | undefined => {
  const maxima = model.maxima[subscription] ?? {}
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
  if (Object.keys(meters).some((meter) => !(meter in (model.maxima[subscription] ?? {})))) return ["UnknownMeter"]
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
  return sums
}

/** All that Tollgate should say about the usage at a time. */
export const toReadings = (before: UsageModel, now: number): UsageReadings => {
  const model = expire(before, now)
  const earliest = getEarliest(now)
  const hours = model.counts.filter(({ at }) => getHourStart(at) >= earliest.hour)
  const days = model.counts.filter(({ at }) => getDayStart(at) >= earliest.day)
  return {
    statuses: model.statuses,
    quotas: Object.fromEntries(
      Object.entries(model.maxima).flatMap(([subscription, maxima]) =>
        Object.entries(maxima).map(([meter, max]) => [
          toName(subscription, meter),
          [max, getUsed(model, subscription, meter, now)] as const
        ])
      )
    ),
    hours: sumBy(hours, ({ subscription, meter, at }) => toName(subscription, meter, getHourStart(at))),
    days: sumBy(days, ({ subscription, meter, at }) => toName(subscription, meter, getDayStart(at))),
    periods: sumBy(model.counts, ({ subscription, meter, at }) => toName(subscription, meter, getPeriodStart(at))),
    totals: sumBy(days, ({ meter, at }) => toName("all", meter, getDayStart(at)))
  }
}
