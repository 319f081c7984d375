/**
 * Reads what alerts look at: the meters of a customer in the present period, and in those that ended since they were counted in.
 */

import { type Entry, Store } from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import { readUsageOfMany } from "../ledger/readUsage.ts"
import { ledgerRecords } from "../ledger/usageRecords.ts"
import { alertRecords, type StoredAlerts } from "../model/alertRecords.ts"
import { getMeterCredit } from "../model/Credit.ts"
import * as Entitlement from "../model/Entitlement.ts"
import { type PeriodId, parseId } from "../model/Period.ts"
import { makeQuota } from "../model/Quota.ts"
import type { Reading } from "./judgeAlert.ts"

/** The meters that alerts look at, each of the newest subscription that allows usage and has it. */
const findMeters = (entitlements: ReadonlyArray<Entitlement.Entitlement>, names: Iterable<string>, now: DateTime.Utc) =>
  [...new Set(names)].flatMap((meter) => {
    const found = Entitlement.findMeter(entitlements, meter, now)
    return found === undefined ? [] : [{ ...found, meter }]
  })
type FoundMeter = ReturnType<typeof findMeters>[number]

/** A meter in a period that is over. Nothing if the subscription has changed since: then other limits applied. */
const inPast = (found: FoundMeter, id: PeriodId): ReadonlyArray<FoundMeter> => {
  const { entitlement, meter } = found
  const periodStart = parseId(id).start
  const periods = typeof id === "number" ? {} : { periods: { [meter]: id } }
  const limits = Entitlement.limitsIn(entitlement, { meters: { [meter]: 0 }, periodStart, ...periods })
  const limit = limits.meters.get(meter)
  const { end } = limit?.otherPeriod ?? limits.period
  const isSame = end !== undefined && DateTime.isLessThan(entitlement.subscription.value.updatedOn, end)
  return limit !== undefined && isSame ? [{ ...found, limits, limit }] : []
}

export interface ReadAlerts {
  readonly entry: Entry<StoredAlerts> | undefined
  /** Of each meter, the earliest period first. The present one is the last. */
  readonly readings: ReadonlyMap<string, ReadonlyArray<Reading>>
  /** The subscriptions that were looked at. */
  readonly entitlements: ReadonlyArray<Entitlement.Entitlement>
}

/** Reads the alerts of a customer, and the meters that they and `names` are about. */
export const readAlerts = Effect.fnUntraced(function* (
  customerKey: string,
  entitlements: ReadonlyArray<Entitlement.Entitlement>,
  names: Iterable<string>,
  now: DateTime.Utc
) {
  const present = findMeters(entitlements, names, now)
  const [first] = present
  const none: ReadAlerts = { entry: undefined, readings: new Map(), entitlements: [] }
  if (first === undefined) return none
  const store = yield* Store
  const { partition } = first.entitlement
  const usageIds = [...new Set(present.map(({ limits }) => limits.usageId))]
  const [record, ...ledgerEntries] = yield* store.get(partition, [
    alertRecords.recordKey(customerKey),
    ...usageIds.map(ledgerRecords.recordKey)
  ])
  const counted = new Map<string, ReadonlyArray<{ readonly start: PeriodId; readonly counted: object }>>()
  for (const ledger of ledgerEntries) {
    if (ledger === undefined) continue
    const { value } = yield* ledgerRecords.decode(ledger)
    counted.set(value.subscriptionId, value.periods)
  }
  const all = present.flatMap((found) => {
    const { meter, limits, limit } = found
    const past = (counted.get(limits.usageId) ?? []).filter(
      (period) => Object.hasOwn(period.counted, meter) && period.start !== limit.periodId
    )
    return [...past.flatMap(({ start }) => inPast(found, start)), found]
  })
  const readOf = yield* readUsageOfMany(
    partition,
    all.map(({ meter, limits, limit }) => ({
      subscriptionId: limits.usageId,
      periods: [{ start: limit.periodId, meters: [meter] }]
    }))
  )
  const toReading = ({ entitlement, meter, limits, limit }: FoundMeter): Reading => {
    const { max, counter, periodId, otherPeriod, credit } = limit
    const { account } = entitlement.credit ?? {}
    const hasCredit = account !== undefined && getMeterCredit(account.credit.value, meter) !== undefined
    return {
      subscriptionId: entitlement.subscription.value.id,
      counter,
      period: otherPeriod ?? limits.period,
      quota: makeQuota(max, readOf(limits.usageId).read(meter, periodId), undefined, credit),
      capacity: makeQuota(max, 0, undefined, credit).remaining,
      isRemainingKnown: !hasCredit || present.some((found) => found.limit === limit)
    }
  }
  const readings = new Map<string, Array<Reading>>()
  for (const found of all) readings.set(found.meter, [...(readings.get(found.meter) ?? []), toReading(found)])
  const read: ReadAlerts = {
    entry: record && (yield* alertRecords.decode(record)),
    readings,
    entitlements: [...new Set(present.map(({ entitlement }) => entitlement))]
  }
  return read
})
