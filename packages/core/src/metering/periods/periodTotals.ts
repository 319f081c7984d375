/**
 * What a subscription used in its months and years, by source, and the changes that make a commit fail if any of it has
 * changed since.
 */

import { Change, type Entry, forEachInPieces, type Partition, Store } from "@tollgate/store/internal"
import { Effect } from "effect"
import { readUsageOfMany } from "../ledger/readUsage.ts"
import type { UsageLedger } from "../ledger/UsageLedger.ts"
import { ledgerRecords, periodRecordKey, periodRecords } from "../ledger/usageRecords.ts"
import type { MetersTotals, MeterTotals } from "../model/ClosedPeriod.ts"
import { creditRecords, getMeterCredit, type StoredCredit, toTerms } from "../model/Credit.ts"
import { getCreditUsed } from "../model/creditTerms.ts"
import { isLong } from "../model/longPeriods.ts"
import { type PeriodId, parseId } from "../model/Period.ts"
import type { PeriodClosing } from "../model/periodClosings.ts"
import { getHeldCounter, getUsedCounter } from "../model/usageCounters.ts"

/** The periods that are closed have that of the subscription, or one of these kinds. */
const recordKinds = [undefined, "month", "year"] as const

export interface PeriodUsage {
  readonly ledger: Entry<UsageLedger> | undefined
  readonly credit: Entry<StoredCredit> | undefined
  /** What open reservations hold in a period. */
  readonly getHeld: (id: PeriodId) => number
  /** The totals of a period, of the meters with a maximum and of those that were used. */
  readonly getTotals: (id: PeriodId, maxima: Readonly<Record<string, number>>) => MetersTotals
  /** Changes that make the commit fail if what is counted in the periods has changed. */
  readonly checkCounters: (ids: ReadonlyArray<PeriodId>) => ReadonlyArray<Change>
  /** Changes that make the commit fail if the history or the credit has changed, and counts that rely on the open hour. */
  readonly checkRecords: () => ReadonlyArray<Change>
}

type AmountByName = Readonly<Record<string, Readonly<Record<string, number>>>>

const toTotals = (max: number | undefined, used: number, given: number): MeterTotals => {
  const credit = Math.min(given, used)
  const overage = max === undefined ? 0 : Math.max(0, used - credit - max)
  return { ...(max === undefined ? {} : { max }), used, allowance: used - credit - overage, credit, overage }
}

/** Reads the usage of several subscriptions, in two calls. */
export const readPeriodUsage = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  closings: ReadonlyArray<Pick<PeriodClosing, "usageId" | "customerKey">>
) {
  const store = yield* Store
  const keys = closings.flatMap(({ usageId, customerKey }) => [
    ledgerRecords.recordKey(usageId),
    creditRecords.recordKey(customerKey),
    ...recordKinds.map((kind) => periodRecordKey(usageId, kind))
  ])
  const width = 2 + recordKinds.length
  const records = yield* store.get(partition, keys)
  const found = yield* forEachInPieces(
    closings,
    Effect.fnUntraced(function* ({ usageId }, index) {
      const [ledgerRecord, creditRecord, ...closedRecords] = records.slice(index * width, (index + 1) * width)
      const ledger = ledgerRecord && (yield* ledgerRecords.decode(ledgerRecord))
      const credit = creditRecord && (yield* creditRecords.decode(creditRecord))
      const closed = new Map<string | undefined, AmountByName>()
      for (const [position, kind] of recordKinds.entries()) {
        const record = closedRecords[position]
        if (record !== undefined) closed.set(kind, (yield* periodRecords.decode(record)).value.periods)
      }
      const open = (ledger?.value.periods ?? []).filter(({ start }) => isLong(start))
      const periods = open.map(({ start, counted }) => ({ start, meters: Object.keys(counted) }))
      return { usageId, ledger, credit, closed, periods }
    })
  )
  const readOf = yield* readUsageOfMany(
    partition,
    found.map(({ usageId, periods }) => ({ subscriptionId: usageId, periods }))
  )
  return found.map(({ usageId, ledger, credit, closed, periods }): PeriodUsage => {
    const { read, readHeld } = readOf(usageId)
    const getMeters = (id: PeriodId) => periods.find(({ start }) => start === id)?.meters ?? []
    const getTotals: PeriodUsage["getTotals"] = (id, maxima) => {
      const { kind, start } = parseId(id)
      const lateUse = closed.get(kind) ?? {}
      const closedMeters = Object.keys(lateUse).filter((meter) => Object.hasOwn(lateUse[meter] ?? {}, String(start)))
      const totals = new Map<string, MeterTotals>()
      for (const meter of new Set([...Object.keys(maxima), ...getMeters(id), ...closedMeters])) {
        const counted = read(meter, id)
        const late = Object.hasOwn(lateUse, meter) ? (lateUse[meter]?.[String(start)] ?? 0) : 0
        const stored = credit && getMeterCredit(credit.value, meter)
        const terms = stored && toTerms(stored, getUsedCounter(usageId, meter, id))
        const given = terms === undefined ? 0 : terms.charged + getCreditUsed(terms, counted)
        const max = Object.hasOwn(maxima, meter) ? maxima[meter] : undefined
        totals.set(meter, toTotals(max, counted + late, given))
      }
      return Object.fromEntries(totals)
    }
    return {
      ledger,
      credit,
      getHeld: (id) => getMeters(id).reduce((sum, meter) => sum + readHeld(meter, id), 0),
      getTotals,
      checkRecords: () => [
        // Written although it does not change: a process that has the hour open looks at it, and at what is closed, again.
        ledger === undefined
          ? Change.Check({ key: ledgerRecords.recordKey(usageId), expect: 0 })
          : ledgerRecords.replace(ledger, ledger.value),
        ...(credit === undefined ? [] : [creditRecords.assertUnchanged(credit)])
      ],
      checkCounters: (ids) =>
        ids.flatMap((id) =>
          getMeters(id).flatMap((meter) => {
            const held = readHeld(meter, id)
            return [
              Change.CheckCounter({ counter: getUsedCounter(usageId, meter, id), expect: read(meter, id) + held }),
              Change.CheckCounter({ counter: getHeldCounter(usageId, meter, id), expect: held })
            ]
          })
        )
    }
  })
})
