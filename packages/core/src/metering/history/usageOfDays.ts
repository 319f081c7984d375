/**
 * What the subscriptions of a metering bucket have used on some days of a month, a page of them at once. What each has used
 * is read as of one moment.
 */

import {
  forEachInPieces,
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

/** A ledger as it was read. */
interface ReadLedger {
  readonly value: UsageLedger.UsageLedger
  readonly version: number
}

/** Reads a body without validating it, which would take longer than all else: there may be 100,000 subscriptions. */
const parse = <I>(
  { parseUnchecked }: { readonly parseUnchecked: (record: StoreRecord) => I | RecordUnreadable },
  record: StoreRecord
): Effect.Effect<I, RecordUnreadable> => {
  const parsed = parseUnchecked(record)
  return parsed instanceof RecordUnreadable ? Effect.fail(parsed) : Effect.succeed(parsed)
}

const parseLedger = (record: StoreRecord): Effect.Effect<ReadLedger, RecordUnreadable> =>
  Effect.map(parse(ledgerRecords, record), (value) => ({ value, version: record.version }))

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
  records: ReadonlyArray<StoreRecord>,
  days: Days
) {
  const store = yield* Store
  const used = new Map<string, Readonly<Record<string, number>>>()
  let unread = yield* forEachInPieces(records, parseLedger)
  for (let attempt = 1; unread.length > 0; attempt++) {
    const ledgers = unread.map(({ value }) => value)
    const ids = ledgers.map(({ subscriptionId }) => subscriptionId)
    const months = yield* store.get(
      partition,
      ids.map((id) => monthRecordKey(id, getMonth(days.start)))
    )
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
    // The commit that closes an hour replaces the ledger.
    const later = yield* store.get(partition, ids.map(ledgerRecords.recordKey))
    const changed: Array<StoreRecord> = []
    yield* forEachInPieces(
      unread,
      Effect.fnUntraced(function* ({ value: ledger, version }, index) {
        const [month, record] = [months[index], later[index]]
        if (record === undefined) return
        if (record.version !== version && attempt < maxAttempts) return void changed.push(record)
        const { days: ofMonth } = month === undefined ? noDays : yield* parse(monthRecords, month)
        used.set(ledger.subscriptionId, sumDays(ledger, ofMonth, days, readOf(ledger.subscriptionId).read))
      })
    )
    unread = yield* forEachInPieces(changed, parseLedger)
  }
  return used
})

/** The customer of each subscription. What was used under one that was removed is that of those that continue it. */
const readCustomers = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  subscriptionIds: ReadonlyArray<string>
) {
  const store = yield* Store
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

/**
 * A page of the subscriptions that have ever used something, oldest first, and what they used on these days, which are of one
 * month.
 */
export const readUsageOfDays = Effect.fnUntraced(function* (bucketId: string, days: Days, request: PageRequest) {
  const partition = Partition.forMeteringBucket(bucketId)
  const store = yield* Store
  const pages = yield* store.list(partition, [{ ...request, indexTerms: [ledgerRecords.indexTerm()] }])
  const { records, ...page } = pages[0] ?? { records: [], total: 0 }
  const used = yield* readUsed(partition, records, days)
  const customers = yield* readCustomers(partition, [...used.keys()])
  const data = [...used].flatMap(([subscriptionId, meters]) => {
    const customerKey = customers.get(subscriptionId)
    return customerKey === undefined ? [] : { customerKey, subscriptionId, meters }
  })
  return { ...page, data }
})
