/**
 * Opens the present hour in the ledger of a subscription when usage is counted in it: once per subscription and hour, and
 * for each meter that the subscription has not used in this period yet. The commit that counts also does all that follows
 * from a new hour: it closes the hour before, rolls up its day, and closes its period.
 */

import { Change, type CommitResult, type Entry, Partition, Store } from "@tollgate/store/internal"
import { DateTime, Effect, Option } from "effect"
import { dayMs, getDayOfHour, hourMs, toHour } from "../model/clockSteps.ts"
import type { Entitlement, PeriodLimits } from "../model/Entitlement.ts"
import { addNames, meterRecordKey, meterRecords } from "../model/meterRecords.ts"
import * as Period from "../model/Period.ts"
import { closingRecords, isClosed, type PeriodClosing, withChange } from "../model/periodClosings.ts"
import { getUsageId } from "../model/Subscription.ts"
import { getDayCounter, getUsedCounter, usageTtlMs } from "../model/usageCounters.ts"
import { giveBackExpired } from "./giveBackExpired.ts"
import { type MetersOfPeriod, readUsage } from "./readUsage.ts"
import * as UsageLedger from "./UsageLedger.ts"
import { addClosedPeriods, addToDays, ledgerRecords } from "./usageRecords.ts"

/** The hour that is open in the ledger, and what can be counted in it without a look at the ledger. */
export interface OpenHour {
  readonly hour: number
  /** When it is present, in epoch milliseconds: also a while before it begins, by the clocks of other processes. */
  readonly from: number
  readonly until: number
  /** Each meter that can be counted: its counter in the present period, and that of the day's total. */
  readonly meters: ReadonlyMap<string, { readonly counter: string; readonly dayCounter: string }>
  /** Until then no reservation expires. Afterwards they are to be given back before anything is counted. */
  readonly firstExpiry: number
}

/** By how much the clocks of processes may differ. An hour that is further ahead was opened by a clock that is wrong. */
const maxClockSkewMs = 10 * 60 * 1000

/**
 * A period is closed when this has passed since its end: until then, processes whose clocks are behind may count in it. There
 * would be many open ones if hours waited for a day.
 */
const getClosingDelayMs = (id: Period.PeriodId): number => (Period.parseId(id).kind === "hour" ? hourMs : dayMs)

/** How soon open reservations are looked at again, since others may be made that expire before them. */
const expiryIntervalMs = 5_000

type Usage = Effect.Success<ReturnType<typeof readUsage>>

/** Whether amounts can be counted, or reserved until `expiresOn`, without a look at the ledger. */
export const isOpenFor = (
  openHour: OpenHour | undefined,
  { meters }: PeriodLimits,
  amounts: Readonly<Record<string, number>>,
  now: number,
  expiresOn: number | undefined
): openHour is OpenHour => {
  if (openHour === undefined) return false
  if (now < openHour.from || now >= openHour.until) return false
  if (now >= openHour.firstExpiry || (expiresOn !== undefined && expiresOn < openHour.firstExpiry)) return false
  for (const meter in amounts) {
    const counter = openHour.meters.get(meter)?.counter
    // Of an earlier period, it is another one.
    if (counter === undefined || counter !== meters.get(meter)?.counter) return false
  }
  return true
}

export interface Opening {
  readonly bucketId: string
  readonly entitlement: Entitlement
  readonly limits: PeriodLimits
  readonly meters: ReadonlyArray<string>
  readonly now: number
  /** When the reservation expires that is to be made. */
  readonly expiresOn: number | undefined
}

const toOpenHour = (ledger: UsageLedger.UsageLedger, { meters }: PeriodLimits): OpenHour => {
  const { openHour: hour, firstExpiry = Number.POSITIVE_INFINITY } = ledger
  const [from, until] = [hour * hourMs - maxClockSkewMs, (hour + 1) * hourMs]
  const open = new Map<string, { readonly counter: string; readonly dayCounter: string }>()
  for (const [meter, { counter, periodId }] of meters) {
    if (!Object.hasOwn(UsageLedger.findPeriod(ledger, periodId)?.counted ?? {}, meter)) continue
    open.set(meter, { counter, dayCounter: getDayCounter(meter, getDayOfHour(hour)) })
  }
  return { hour, from, until, meters: open, firstExpiry }
}

/** The periods that meters count in. */
const groupByPeriod = (meters: ReadonlyArray<string>, limits: PeriodLimits): ReadonlyArray<MetersOfPeriod> => {
  const getId = (meter: string) => limits.meters.get(meter)?.periodId ?? DateTime.toEpochMillis(limits.period.start)
  return [...Map.groupBy(meters, getId)].map(([start, meters]) => ({ start, meters }))
}

/** An hour to count in. */
export interface PreparedHour {
  readonly openHour: OpenHour
  /** Whether the ledger has it open. */
  readonly isOpen: boolean
  /** Open it; if it is open, check that the ledger has not changed since. */
  readonly changes: ReadonlyArray<Change>
}

/** An hour after the commit that has opened it. */
export const toOpened = (
  { openHour }: PreparedHour,
  subscriptionId: string,
  commitResult: CommitResult
): PreparedHour => {
  const expect = ledgerRecords.getVersion(commitResult, subscriptionId)
  return { openHour, isOpen: true, changes: [Change.Check({ key: ledgerRecords.recordKey(subscriptionId), expect })] }
}

/** The periods that can be closed: those that ended a while ago, unless a reservation still holds something in them. */
const findOverPeriods = (
  { entitlement, limits, now }: Opening,
  { periods }: UsageLedger.UsageLedger,
  readHeld: UsageLedger.ReadUsage
) => {
  const present = new Set([...limits.meters.values()].map(({ periodId }) => periodId))
  return periods.filter(({ start, counted }) => {
    if (present.has(start)) return false
    const { end } = Period.fromId(start, entitlement.subscription.value)
    const isOver = end !== undefined && DateTime.toEpochMillis(end) + getClosingDelayMs(start) <= now
    return isOver && Object.keys(counted).every((meter) => readHeld(meter, start) === 0)
  })
}

/** Removes the counter of a closed period. Fails if something was counted in it since it was read, by a slow process. */
const removeUsed = (
  subscriptionId: string,
  meter: string,
  start: Period.PeriodId,
  used: number
): ReadonlyArray<Change> => {
  const counter = getUsedCounter(subscriptionId, meter, start)
  const isUnchanged = Change.CheckCounter({ counter, expect: used })
  return used === 0 ? [isUnchanged] : [isUnchanged, Change.Add({ counter, by: -used, ttl: usageTtlMs })]
}

/** Moves to another hour: closes the open hour, and the periods that are over. */
const moveToHour = Effect.fnUntraced(function* (
  opening: Opening,
  previous: UsageLedger.UsageLedger,
  hour: number,
  { read, readHeld }: Usage
) {
  const { subscriptionId } = previous
  const partition = Partition.forMeteringBucket(opening.bucketId)
  const { ledger, days } = UsageLedger.moveToHour(previous, hour, read)
  const over = findOverPeriods(opening, ledger, readHeld).map(({ start, counted }) => ({
    start,
    used: new Map(Object.keys(counted).map((meter) => [meter, read(meter, start)]))
  }))
  const closed = new Map(over.map(({ start, used }) => [start, used]))
  return {
    ledger: { ...ledger, periods: ledger.periods.filter(({ start }) => !closed.has(start)) },
    changes: [
      ...(yield* addToDays(partition, subscriptionId, days, opening.now)),
      ...(yield* addClosedPeriods(partition, subscriptionId, closed, opening.now)),
      ...over.flatMap(({ start, used }) =>
        [...used].flatMap(([meter, amount]) => removeUsed(subscriptionId, meter, start, amount))
      )
    ]
  }
})

/** Gives back the reservations that have expired. Returns the ledger with the time of the next ones. */
const giveBackDue = Effect.fnUntraced(function* (
  { bucketId, now, expiresOn = Number.POSITIVE_INFINITY }: Opening,
  { firstExpiry: due = Number.POSITIVE_INFINITY, ...ledger }: UsageLedger.UsageLedger
) {
  let firstExpiry = due
  if (now >= due) {
    // Those that expired earlier would have been given back long ago: by another clock than this one they are open.
    const [present, since] = [DateTime.makeUnsafe(now), DateTime.makeUnsafe(now - maxClockSkewMs)]
    const { open } = yield* giveBackExpired(bucketId, ledger.subscriptionId, present, since)
    const expiries = open.map(({ value }) => Math.min(DateTime.toEpochMillis(value.expiresOn), now + expiryIntervalMs))
    firstExpiry = Math.min(...expiries, Number.POSITIVE_INFINITY)
  }
  firstExpiry = Math.min(firstExpiry, expiresOn)
  return Number.isFinite(firstExpiry) ? { ...ledger, firstExpiry } : ledger
})

/** The change that has closed periods looked at again, if a process whose clock is behind counts in them. */
const correctClosed = (
  closing: Entry<PeriodClosing> | undefined,
  opened: ReadonlyArray<MetersOfPeriod>,
  now: number
): ReadonlyArray<Change> => {
  if (closing === undefined || closing.value.isChanged === true) return []
  if (!opened.some(({ start }) => isClosed(closing.value, start))) return []
  // No entry for the job: it comes by 15 minutes after it has closed a period, or with the next period of the metering bucket.
  return [closingRecords.replace(closing, withChange(closing.value, DateTime.makeUnsafe(now)))]
}

/** Finds the hour to count in, and the changes that make the ledger ready for it. */
export const prepareHour = Effect.fnUntraced(function* (opening: Opening) {
  const { bucketId, entitlement, limits, meters, now, expiresOn } = opening
  const store = yield* Store
  const partition = Partition.forMeteringBucket(bucketId)
  const subscriptionId = getUsageId(entitlement.subscription.value)
  const [ledgerRecord, meterRecord, closingRecord] = yield* store.get(partition, [
    ledgerRecords.recordKey(subscriptionId),
    meterRecordKey,
    closingRecords.recordKey(subscriptionId)
  ])
  const entry = ledgerRecord === undefined ? undefined : yield* ledgerRecords.decode(ledgerRecord)
  const knownMeters = meterRecord === undefined ? Option.none() : Option.some(yield* meterRecords.decode(meterRecord))
  const previous = entry?.value ?? UsageLedger.make(subscriptionId, toHour(now))
  const openHour = toOpenHour(previous, limits)
  const opened = groupByPeriod(meters, limits)
  const closing = closingRecord && (yield* closingRecords.decode(closingRecord))
  const correction = correctClosed(closing, opened, now)
  if (entry !== undefined && isOpenFor(openHour, limits, toKeys(meters), now, expiresOn) && correction.length === 0) {
    return { openHour, isOpen: true, changes: [ledgerRecords.assertUnchanged(entry)] } satisfies PreparedHour
  }
  const current = yield* giveBackDue(opening, previous)
  const usage = yield* readUsage(partition, subscriptionId, [
    ...previous.periods.map(({ start, counted }) => ({ start, meters: Object.keys(counted) })),
    ...opened
  ])
  const isPresent = openHour.from <= now && now < openHour.until
  const moved = isPresent ? { ledger: current, changes: [] } : yield* moveToHour(opening, current, toHour(now), usage)
  const ledger = opened.reduce(
    (ledger, { start, meters }) => UsageLedger.addMeters(ledger, start, meters, usage.read),
    moved.ledger
  )
  const changes = [
    entry === undefined ? ledgerRecords.insert(ledger) : ledgerRecords.replace(entry, ledger),
    ...addNames(knownMeters, meters),
    // Whoever closes a period checks the ledger, if there is one.
    ...(entry === undefined && closing !== undefined && correction.length === 0
      ? [closingRecords.assertUnchanged(closing)]
      : correction),
    ...moved.changes
  ]
  return { openHour: toOpenHour(ledger, limits), isOpen: false, changes } satisfies PreparedHour
})

const toKeys = (names: ReadonlyArray<string>) => Object.fromEntries(names.map((name) => [name, 0]))
