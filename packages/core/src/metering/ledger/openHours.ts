/**
 * Opens the present hour in the ledger of a subscription when usage is counted in it: once per subscription and hour, and
 * for each meter that the subscription has not used in this period yet. The commit that counts also does all that follows
 * from a new hour: it closes the hour before, rolls up its day, and closes its period.
 */
import { DateTime, Effect, Option } from "effect"
import * as Partition from "../../store/Partition.ts"
import { Change, type CommitResult, Store } from "../../store/Store.ts"
import { dayMs, hourMs, toHour } from "../model/clockSteps.ts"
import type { Entitlement } from "../model/Entitlement.ts"
import { addNames, meterRecordKey, meterRecords } from "../model/meterRecords.ts"
import * as Period from "../model/Period.ts"
import { getUsedCounter, usageTtlMs } from "../model/usageCounters.ts"
import { giveBackExpired } from "./giveBackExpired.ts"
import { readUsage } from "./readUsage.ts"
import * as UsageLedger from "./UsageLedger.ts"
import { addClosedPeriods, addToDays, ledgerRecords } from "./usageRecords.ts"

/** The hour that is open in the ledger, and what can be counted in it without a look at the ledger. */
export interface OpenHour {
  readonly hour: number
  readonly periodStart: number
  readonly meters: ReadonlySet<string>
  /** Until then no reservation expires. Afterwards they are to be given back before anything is counted. */
  readonly firstExpiry: number
}

/** By how much the clocks of processes may differ. An hour that is further ahead was opened by a clock that is wrong. */
const maxClockSkewMs = 10 * 60 * 1000

/** A period is closed when this has passed since its end: until then, processes whose clocks are behind may count in it. */
const closeAfterMs = dayMs

/** How soon open reservations are looked at again, since others may be made that expire before them. */
const expiryIntervalMs = 5_000

type Usage = Effect.Success<ReturnType<typeof readUsage>>

const isPresent = (openHour: number, now: number): boolean =>
  openHour * hourMs - maxClockSkewMs <= now && now < (openHour + 1) * hourMs

/** Whether amounts can be counted in a period, or reserved until `expiresOn`, without a look at the ledger. */
export const isOpenFor = (
  openHour: OpenHour | undefined,
  periodStart: number,
  amounts: Readonly<Record<string, number>>,
  now: number,
  expiresOn: number | undefined
): openHour is OpenHour => {
  if (openHour === undefined || openHour.periodStart !== periodStart || !isPresent(openHour.hour, now)) return false
  if (now >= openHour.firstExpiry || (expiresOn !== undefined && expiresOn < openHour.firstExpiry)) return false
  for (const meter in amounts) if (!openHour.meters.has(meter)) return false
  return true
}

export interface Opening {
  readonly bucketId: string
  readonly entitlement: Entitlement
  readonly periodStart: number
  readonly meters: ReadonlyArray<string>
  readonly now: number
  /** When the reservation expires that is to be made. */
  readonly expiresOn: number | undefined
}

const toOpenHour = (
  { openHour, periods, firstExpiry = Number.POSITIVE_INFINITY }: UsageLedger.UsageLedger,
  periodStart: number
): OpenHour => {
  const counted = periods.find(({ start }) => start === periodStart)?.counted ?? {}
  return { hour: openHour, periodStart, meters: new Set(Object.keys(counted)), firstExpiry }
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
  { entitlement, periodStart, now }: Opening,
  { periods }: UsageLedger.UsageLedger,
  readHeld: UsageLedger.ReadUsage
) => {
  const { quotaResetAnchor, renewalStrategy } = entitlement.subscription.value
  return periods.filter(({ start, counted }) => {
    const { end } = Period.periodAt(quotaResetAnchor, renewalStrategy, DateTime.makeUnsafe(start))
    const isOver = start !== periodStart && DateTime.toEpochMillis(end) + closeAfterMs <= now
    return isOver && Object.keys(counted).every((meter) => readHeld(meter, start) === 0)
  })
}

/** A change that removes the counter of a closed period. */
const removeUsed = (subscriptionId: string, meter: string, start: number, used: number): ReadonlyArray<Change> => {
  const counter = getUsedCounter(subscriptionId, meter, start)
  return used === 0 ? [] : [Change.Add({ counter, by: -used, ttl: usageTtlMs })]
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
      ...(yield* addClosedPeriods(partition, subscriptionId, closed)),
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

/** Finds the hour to count in, and the changes that make the ledger ready for it. */
export const prepareHour = Effect.fnUntraced(function* (opening: Opening) {
  const { bucketId, entitlement, periodStart, meters, now, expiresOn } = opening
  const store = yield* Store
  const partition = Partition.forMeteringBucket(bucketId)
  const { id: subscriptionId } = entitlement.subscription.value
  const [ledgerRecord, meterRecord] = yield* store.get(partition, [
    ledgerRecords.recordKey(subscriptionId),
    meterRecordKey
  ])
  const entry = ledgerRecord === undefined ? undefined : yield* ledgerRecords.decode(ledgerRecord)
  const knownMeters = meterRecord === undefined ? Option.none() : Option.some(yield* meterRecords.decode(meterRecord))
  const previous = entry?.value ?? UsageLedger.make(subscriptionId, toHour(now))
  const openHour = toOpenHour(previous, periodStart)
  if (entry !== undefined && isOpenFor(openHour, periodStart, toKeys(meters), now, expiresOn)) {
    return { openHour, isOpen: true, changes: [ledgerRecords.assertUnchanged(entry)] } satisfies PreparedHour
  }
  const current = yield* giveBackDue(opening, previous)
  const usage = yield* readUsage(partition, subscriptionId, [
    ...previous.periods.map(({ start, counted }) => ({ start, meters: Object.keys(counted) })),
    { start: periodStart, meters }
  ])
  const moved = isPresent(current.openHour, now)
    ? { ledger: current, changes: [] }
    : yield* moveToHour(opening, current, toHour(now), usage)
  const ledger = UsageLedger.addMeters(moved.ledger, periodStart, meters, usage.read)
  const changes = [
    entry === undefined ? ledgerRecords.insert(ledger) : ledgerRecords.replace(entry, ledger),
    ...addNames(knownMeters, meters),
    ...moved.changes
  ]
  return { openHour: toOpenHour(ledger, periodStart), isOpen: false, changes } satisfies PreparedHour
})

const toKeys = (names: ReadonlyArray<string>) => Object.fromEntries(names.map((name) => [name, 0]))
