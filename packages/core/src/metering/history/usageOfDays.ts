/**
 * What the subscriptions of a metering bucket have used on some days of a month, a page of them at once. What each has used
 * is read as of one moment.
 */

import {
  forEachInPieces,
  nextTurn,
  type PageRequest,
  Partition,
  RecordUnreadable,
  Store,
  type StoreRecord
} from "@tollgate/store/internal"
import { Effect } from "effect"
import { readUsageOfMany } from "../ledger/readUsage.ts"
import * as UsageLedger from "../ledger/UsageLedger.ts"
import { ledgerRecords, monthRecordKey, monthRecords } from "../ledger/usageRecords.ts"
import { type Days, getDayOfHour, getMonth } from "../model/clockSteps.ts"
import { byUsageOf, subscriptionRecords } from "../model/subscriptionRecords.ts"

/** How often a ledger is read again because an hour was closed meanwhile. */
const maxAttempts = 10

const noDays = { days: {} }

/** A ledger as it was read, with what is asked for of its meters. */
interface ReadLedger {
  readonly value: UsageLedger.UsageLedger
  readonly version: number
}

/** All meters, or the one that is asked for. */
const selectMeter = <A>(
  byMeter: Readonly<Record<string, A>>,
  meter: string | undefined
): Readonly<Record<string, A>> => {
  if (meter === undefined) return byMeter
  const amounts = Object.hasOwn(byMeter, meter) ? byMeter[meter] : undefined
  return amounts === undefined ? {} : { [meter]: amounts }
}

/** Reads a body without validating it, which would take longer than all else: there may be 100,000 subscriptions. */
const parse = <I>(
  { parseUnchecked }: { readonly parseUnchecked: (record: StoreRecord) => I | RecordUnreadable },
  record: StoreRecord
): Effect.Effect<I, RecordUnreadable> => {
  const parsed = parseUnchecked(record)
  return parsed instanceof RecordUnreadable ? Effect.fail(parsed) : Effect.succeed(parsed)
}

const parseLedger =
  (meter: string | undefined) =>
  (record: StoreRecord): Effect.Effect<ReadLedger, RecordUnreadable> =>
    Effect.map(parse(ledgerRecords, record), (ledger) => {
      const hours = selectMeter(ledger.hours, meter)
      const periods = ledger.periods.map(({ start, counted }) => ({ start, counted: selectMeter(counted, meter) }))
      return { value: { ...ledger, hours, periods }, version: record.version }
    })

const isWithin = ({ start, end }: Days, day: number): boolean => start <= day && day < end

const isOpenWithin = (days: Days, { openHour }: UsageLedger.UsageLedger) => isWithin(days, getDayOfHour(openHour))

/** What a ledger and the record of its month say of these days. */
const sumDays = (
  ledger: UsageLedger.UsageLedger,
  month: UsageLedger.AmountsByStep,
  days: Days,
  read: UsageLedger.ReadUsage
): Record<string, number> => {
  const sums: Record<string, number> = {}
  const add = (meter: string, amount: number) => {
    sums[meter] = (sums[meter] ?? 0) + amount
  }
  for (const [meter, amounts] of Object.entries(month)) {
    for (const [day, amount] of Object.entries(amounts)) if (isWithin(days, Number(day))) add(meter, amount)
  }
  const unrolled = UsageLedger.sumDays(ledger.hours, Math.max(days.start, ledger.rolledUpTo), days.end)
  for (const amounts of unrolled.values()) for (const [meter, amount] of amounts) add(meter, amount)
  if (isOpenWithin(days, ledger))
    for (const [meter, amount] of UsageLedger.getOpenUsage(ledger, read)) add(meter, amount)
  return sums
}

/** What each subscription used, by its id, in the order of their ledgers. */
const readUsed = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  ledgersOfPage: ReadonlyArray<StoreRecord>,
  days: Days,
  meter: string | undefined
) {
  const store = yield* Store
  const used = new Map<string, Readonly<Record<string, number>>>()
  const month = getMonth(days.start)
  let unread = yield* forEachInPieces(ledgersOfPage, parseLedger(meter))
  for (let attempt = 1; unread.length > 0; attempt++) {
    const ledgers = unread.map(({ value }) => value)
    const ids = ledgers.map(({ subscriptionId }) => subscriptionId)
    // A store that answers at once would otherwise do all reads in one turn.
    yield* nextTurn
    const rolledUp = ledgers.filter(({ rolledUpTo }) => rolledUpTo > days.start)
    const monthKeys = new Map(
      rolledUp.map(({ subscriptionId }) => [subscriptionId, monthRecordKey(subscriptionId, month)])
    )
    const records = yield* store.get(partition, [...monthKeys.values()])
    const months = new Map([...monthKeys.keys()].map((id, index) => [id, records[index]]))
    const readOf = yield* readUsageOfMany(
      partition,
      ledgers.flatMap((ledger) =>
        isOpenWithin(days, ledger)
          ? {
              subscriptionId: ledger.subscriptionId,
              periods: ledger.periods.map(({ start, counted }) => ({ start, meters: Object.keys(counted) }))
            }
          : []
      )
    )
    yield* nextTurn
    // The commit that closes an hour replaces the ledger.
    const later = yield* store.get(partition, ids.map(ledgerRecords.recordKey))
    const changed: Array<StoreRecord> = []
    yield* forEachInPieces(
      unread,
      Effect.fnUntraced(function* ({ value: ledger, version }, index) {
        const record = later[index]
        if (record === undefined) return
        if (record.version !== version && attempt < maxAttempts) return void changed.push(record)
        const monthRecord = months.get(ledger.subscriptionId)
        const { days: ofMonth } = monthRecord === undefined ? noDays : yield* parse(monthRecords, monthRecord)
        const { read } = readOf(ledger.subscriptionId)
        used.set(ledger.subscriptionId, sumDays(ledger, selectMeter(ofMonth, meter), days, read))
      })
    )
    unread = yield* forEachInPieces(changed, parseLedger(meter))
  }
  return used
})

/** The customer of each subscription. What was used under one that was removed is that of those that continue it. */
const readCustomers = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  subscriptionIds: ReadonlyArray<string>
) {
  const store = yield* Store
  yield* nextTurn
  const records = yield* store.get(partition, subscriptionIds.map(subscriptionRecords.recordKey))
  const customers = new Map<string, string>()
  yield* forEachInPieces(
    subscriptionIds,
    Effect.fnUntraced(function* (id, index) {
      const record = records[index]
      if (record !== undefined) {
        customers.set(id, (yield* parse(subscriptionRecords, record)).customerKey)
        return
      }
      const query = { where: [byUsageOf(id)], offset: 0, limit: 1 }
      const { entries } = yield* subscriptionRecords.page(partition, query)
      for (const { value } of entries) customers.set(id, value.customerKey)
    })
  )
  return customers
})

/** What is read of the subscriptions: of all their meters, or only of one, and then only the subscriptions that used it. */
interface UsageRequest extends PageRequest {
  readonly meter?: string | undefined
}

/**
 * A page of the subscriptions that have ever used something, oldest first, and what they used on these days, which are of one
 * month.
 */
export const readUsageOfDays = Effect.fnUntraced(function* (
  bucketId: string,
  days: Days,
  { meter, ...request }: UsageRequest
) {
  const partition = Partition.forMeteringBucket(bucketId)
  const store = yield* Store
  const pages = yield* store.list(partition, [{ ...request, indexTerms: [ledgerRecords.indexTerm()] }])
  const { records, ...page } = pages[0] ?? { records: [], total: 0 }
  const used = [...(yield* readUsed(partition, records, days, meter))].filter(
    ([, meters]) => meter === undefined || (meters[meter] ?? 0) > 0
  )
  const customers = yield* readCustomers(
    partition,
    used.map(([id]) => id)
  )
  const data = used.flatMap(([subscriptionId, meters]) => {
    const customerKey = customers.get(subscriptionId)
    return customerKey === undefined ? [] : { customerKey, subscriptionId, meters }
  })
  return { ...page, data }
})
