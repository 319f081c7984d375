/**
 * The changes that end a reservation: it is removed, what was not used is given back, and what was used is counted in the
 * hour in which the reservation was made.
 */

import { Change, type Entry, type Partition } from "@tollgate/store/internal"
import { Effect, Option } from "effect"
import { returnReserved } from "../credits/returnCredit.ts"
import { getDayOfHour, toHour } from "../model/clockSteps.ts"
import { getUsageId, reservationRecords, type StoredReservation } from "../model/reservationRecords.ts"
import { getPeriodId } from "../model/reservedPeriods.ts"
import { dayTtlMs, getDayCounter, getHeldCounter, getUsedCounter, usageTtlMs } from "../model/usageCounters.ts"
import { attributeToHour, type MeterAmounts } from "./UsageLedger.ts"
import { addToDays, ledgerRecords } from "./usageRecords.ts"

/** Changes of the counters of several reservations, which are added up. */
export const changeCounters = (
  reservations: ReadonlyArray<{ readonly reservation: StoredReservation; readonly used: MeterAmounts }>
): ReadonlyArray<Change> => {
  const sums = new Map<string, { readonly by: number; readonly ttl: number }>()
  const addUp = (counter: string, by: number, ttl: number) => {
    const sum = sums.get(counter) ?? { by: 0, ttl }
    sums.set(counter, { ...sum, by: sum.by + by })
  }
  for (const { reservation, used } of reservations) {
    const { hour, meters } = reservation
    const usageId = getUsageId(reservation)
    for (const [meter, reserved] of Object.entries(meters)) {
      const usedAmount = used.get(meter) ?? 0
      const period = getPeriodId(reservation, meter)
      addUp(getUsedCounter(usageId, meter, period), usedAmount - reserved, usageTtlMs)
      addUp(getHeldCounter(usageId, meter, period), -reserved, usageTtlMs)
      addUp(getDayCounter(meter, getDayOfHour(hour)), usedAmount, dayTtlMs)
    }
  }
  return [...sums].flatMap(([counter, { by, ttl }]) => (by === 0 ? [] : [Change.Add({ counter, by, ttl })]))
}

/** Changes of the ledger, so that usage is attributed to the hour of the reservation. `now` is in epoch milliseconds. */
const changeLedger = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  reservation: StoredReservation,
  used: MeterAmounts,
  now: number
) {
  const { hour } = reservation
  const usageId = getUsageId(reservation)
  const isUsed = [...used.values()].some((amount) => amount > 0)
  if (!isUsed) return []
  const ledger = yield* ledgerRecords.get(partition, usageId)
  if (Option.isNone(ledger)) return []
  if (ledger.value.value.openHour === hour) {
    if (hour === toHour(now)) return [ledgerRecords.assertUnchanged(ledger.value)]
    // The hour is over, so another process may be closing it with counters that it read before. The ledger is written
    // although it does not change, so that only one of the two succeeds.
    return [ledgerRecords.replace(ledger.value, ledger.value.value)]
  }
  const attributed = attributeToHour(ledger.value.value, hour, (meter) => getPeriodId(reservation, meter), used)
  return [
    ledgerRecords.replace(ledger.value, attributed.ledger),
    ...(yield* addToDays(partition, usageId, attributed.days, now))
  ]
})

/** The changes that end a reservation at what was used. */
export const endReservation = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  entry: Entry<StoredReservation>,
  used: MeterAmounts,
  now: number
) {
  return [
    reservationRecords.remove(entry),
    ...(yield* changeLedger(partition, entry.value, used, now)),
    ...changeCounters([{ reservation: entry.value, used }]),
    ...(yield* returnReserved(partition, [{ reservation: entry.value, used }]))
  ]
})
