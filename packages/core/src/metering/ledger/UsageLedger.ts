/**
 * When a subscription used its meters. The counters of a period say how much; the ledger says in which hours.
 *
 * One hour is open. For it the ledger holds the value of each counter at its start, so its usage is the difference to
 * the present value: counting costs nothing more. The first count in another hour closes the open one, which adds the
 * difference to the closed hours, and opens the next. The first count on another day rolls up the days before.
 *
 * Usage in the ledger is what was counted, less what is reserved: a reservation counts when it is settled, in the hour in
 * which it was made.
 */
import { Schema } from "effect"
import { getDayOfHour } from "../model/clockSteps.ts"
import { PeriodId } from "../model/Period.ts"
import { keptHours } from "../model/usageCounters.ts"

/** An amount by meter. */
export type MeterAmounts = ReadonlyMap<string, number>

export const noAmounts: ReadonlyMap<string, number> = new Map()

const AmountByName = Schema.Record(Schema.String, Schema.Finite)

const CountedPeriod = Schema.Struct({
  /** The stored name of its id. */
  start: PeriodId,
  /** The usage of each meter in the period when the hour was opened. */
  counted: AmountByName
})

export const UsageLedger = Schema.Struct({
  subscriptionId: Schema.String,
  /** The hour that is open, since the epoch. */
  openHour: Schema.Int,
  /** The periods that may still be counted in: usually one, and around the end of a period two. Meters may have others. */
  periods: Schema.Array(CountedPeriod),
  /** The usage in closed hours, by meter and hour. */
  hours: Schema.Record(Schema.String, AmountByName),
  /** Days before this one are in the records of their months. */
  rolledUpTo: Schema.Int,
  /** Until then, in epoch milliseconds, no reservation expires. There is none that could, if it is missing. */
  firstExpiry: Schema.optionalKey(Schema.Int)
})
export type UsageLedger = typeof UsageLedger.Type
type CountedPeriod = typeof CountedPeriod.Type

/** Returns the usage of a meter in a period. */
export type ReadUsage = (meter: string, period: PeriodId) => number

/** An empty ledger, opened in an hour. */
export const make = (subscriptionId: string, openHour: number): UsageLedger => ({
  subscriptionId,
  openHour,
  periods: [],
  hours: {},
  rolledUpTo: getDayOfHour(openHour)
})

/** Amounts by meter, and then by step: an hour, a day, or the start of a period. */
export type AmountsByStep = UsageLedger["hours"]

/** Adds amounts to a step. Steps with 0 are left out. */
export const addToStep = (byStep: AmountsByStep, step: number, amounts: MeterAmounts): AmountsByStep => {
  const byMeter = new Map(Object.entries(byStep))
  for (const [meter, amount] of amounts) {
    const { [String(step)]: before = 0, ...others } = byMeter.get(meter) ?? {}
    const sum = before + amount
    byMeter.set(meter, sum === 0 ? others : { ...others, [String(step)]: sum })
  }
  return Object.fromEntries(byMeter)
}

export const findPeriod = ({ periods }: UsageLedger, id: PeriodId): CountedPeriod | undefined =>
  periods.find(({ start }) => start === id)

/** What was used in the open hour so far. */
export const getOpenUsage = ({ periods }: UsageLedger, readUsage: ReadUsage): MeterAmounts => {
  const amounts = new Map<string, number>()
  for (const { start, counted } of periods) {
    for (const [meter, before] of Object.entries(counted)) {
      amounts.set(meter, (amounts.get(meter) ?? 0) + readUsage(meter, start) - before)
    }
  }
  return amounts
}

/** Makes a ledger ready to count these meters in a period. */
export const addMeters = (
  ledger: UsageLedger,
  start: PeriodId,
  meters: ReadonlyArray<string>,
  readUsage: ReadUsage
): UsageLedger => {
  const existing = findPeriod(ledger, start)
  const added = meters.filter((meter) => !Object.hasOwn(existing?.counted ?? {}, meter))
  const counted = {
    ...existing?.counted,
    ...Object.fromEntries(added.map((meter) => [meter, readUsage(meter, start)]))
  }
  return { ...ledger, periods: [...ledger.periods.filter((period) => period !== existing), { start, counted }] }
}

/** A ledger, and what belongs into the records of months: the usage by day. */
export interface RolledUp {
  readonly ledger: UsageLedger
  readonly days: ReadonlyMap<number, MeterAmounts>
}

/** The sums of the closed hours, by day, from a day on and before another. */
export const sumDays = (hours: UsageLedger["hours"], from: number, to: number): ReadonlyMap<number, MeterAmounts> => {
  const days = new Map<number, Map<string, number>>()
  for (const [meter, amounts] of Object.entries(hours)) {
    for (const [hour, amount] of Object.entries(amounts)) {
      const day = getDayOfHour(Number(hour))
      if (day < from || day >= to) continue
      const sums = days.get(day) ?? new Map<string, number>()
      days.set(day, sums.set(meter, (sums.get(meter) ?? 0) + amount))
    }
  }
  return days
}

/** Adds usage to an hour that is not open. If its day is rolled up already, it also belongs into the record of the month. */
export const addToClosedHour = (ledger: UsageLedger, hour: number, amounts: MeterAmounts): RolledUp => {
  const day = getDayOfHour(hour)
  return {
    ledger: { ...ledger, hours: addToStep(ledger.hours, hour, amounts) },
    days: day < ledger.rolledUpTo ? new Map([[day, amounts]]) : new Map()
  }
}

/** Leaves out the steps before one. */
export const dropOldSteps = (byStep: AmountsByStep, first: number): AmountsByStep =>
  Object.fromEntries(
    Object.entries(byStep).flatMap(([meter, amounts]) => {
      const kept = Object.entries(amounts).filter(([step]) => Number(step) >= first)
      return kept.length === 0 ? [] : [[meter, Object.fromEntries(kept)]]
    })
  )

/** Closes the open hour, opens another, and rolls up the days before it. */
export const moveToHour = (ledger: UsageLedger, hour: number, readUsage: ReadUsage): RolledUp => {
  const closed = addToClosedHour(ledger, ledger.openHour, getOpenUsage(ledger, readUsage))
  const { hours } = closed.ledger
  const day = getDayOfHour(hour)
  const days = new Map([...closed.days, ...sumDays(hours, ledger.rolledUpTo, day)])
  const periods = ledger.periods.map(({ start, counted }) => ({
    start,
    counted: Object.fromEntries(Object.keys(counted).map((meter) => [meter, readUsage(meter, start)]))
  }))
  return {
    ledger: {
      ...ledger,
      openHour: hour,
      periods,
      hours: dropOldSteps(hours, hour - keptHours),
      rolledUpTo: Math.max(ledger.rolledUpTo, day)
    },
    days
  }
}

/** Attributes usage that is about to be counted to an hour that is not open, instead of the open one. */
export const attributeToHour = (
  ledger: UsageLedger,
  hour: number,
  getPeriod: (meter: string) => PeriodId,
  amounts: MeterAmounts
): RolledUp => {
  const periods = ledger.periods.map(({ start, counted }) => ({
    start,
    counted: Object.fromEntries(
      Object.entries(counted).map(([meter, before]) => [
        meter,
        getPeriod(meter) === start ? before + (amounts.get(meter) ?? 0) : before
      ])
    )
  }))
  return addToClosedHour({ ...ledger, periods }, hour, amounts)
}
