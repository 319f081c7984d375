/**
 * Gives back to the sources of credit what reservations and adjustments give back of a counter. In the segment in which it was
 * counted this is the lower counter. Later it is noted, and given to the sources when the open segment is closed: the counter
 * and its value at the start are lowered together, so that what the open segment has charged stays the same.
 */

import type { Change, Partition } from "@tollgate/store/internal"
import { type DateTime, Effect } from "effect"
import {
  assertCreditUnchanged,
  type CreditAccount,
  getMeterCredit,
  type MeterCredit,
  type Return,
  readCreditAccounts,
  type StoredCredit,
  toTerms
} from "../model/Credit.ts"
import type { CreditTerms } from "../model/creditTerms.ts"
import type * as Entitlement from "../model/Entitlement.ts"
import type { StoredReservation } from "../model/reservationRecords.ts"
import { getUsageId } from "../model/reservationRecords.ts"
import { getPeriodId } from "../model/reservedPeriods.ts"
import { getUsedCounter } from "../model/usageCounters.ts"
import { findSpender } from "./creditDue.ts"
import { computeSettlement, withMeter, writeCredit } from "./settleCredit.ts"

/** Notes what is to be given back, and that the segment must be closed before anything else is counted. */
const noteReturn = (credit: MeterCredit, returned: Return): MeterCredit => {
  const { open } = credit
  return {
    ...credit,
    dueOn: 0,
    returns: [...credit.returns, returned],
    ...(open?.counter === returned.counter ? { open: { ...open, start: open.start - returned.amount } } : {})
  }
}

/** A change of the counter of a meter that gives back. */
export interface MeterReturn extends Return {
  readonly meter: string
}

const noteReturns = (value: StoredCredit, returns: ReadonlyArray<MeterReturn>): StoredCredit => {
  let noted = value
  for (const { meter, ...returned } of returns) {
    const credit = Object.hasOwn(noted.meters, meter) ? noted.meters[meter] : undefined
    // Where no grant has given anything, nothing returns to one.
    if (credit === undefined || !Object.hasOwn(credit.periods, returned.counter)) continue
    const { open } = credit
    if (returned.segment !== undefined && open?.number === returned.segment && open.counter === returned.counter)
      continue
    noted = withMeter(noted, meter, noteReturn(credit, returned))
  }
  return noted
}

const toChanges = (account: CreditAccount, returns: ReadonlyArray<MeterReturn>): ReadonlyArray<Change> => {
  const value = account.credit?.value
  const noted = value && noteReturns(value, returns)
  return noted === undefined || noted === value ? [assertCreditUnchanged(account)] : writeCredit(account, noted)
}

/** What a reservation gives back. */
export const listReserved = (
  reservation: StoredReservation,
  used: ReadonlyMap<string, number>
): ReadonlyArray<MeterReturn> =>
  Object.entries(reservation.meters).flatMap(([meter, reserved]): ReadonlyArray<MeterReturn> => {
    const amount = reserved - (used.get(meter) ?? 0)
    if (amount <= 0) return []
    const counter = getUsedCounter(getUsageId(reservation), meter, getPeriodId(reservation, meter))
    const segment = reservation.segments?.[meter]
    return [{ meter, counter, amount, ...(segment === undefined ? {} : { segment }) }]
  })

/** The changes that give back what reservations have not used, beside those of the counters. */
export const returnReserved = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  reservations: ReadonlyArray<{ readonly reservation: StoredReservation; readonly used: ReadonlyMap<string, number> }>
) {
  const unused = reservations.filter(({ reservation: { meters }, used }) =>
    Object.entries(meters).some(([meter, reserved]) => reserved > (used.get(meter) ?? 0))
  )
  if (unused.length === 0) return []
  const byCustomer = Map.groupBy(unused, ({ reservation }) => reservation.customerKey)
  const accounts = yield* readCreditAccounts(partition, [...byCustomer.keys()])
  return accounts.flatMap((account) => {
    const returns = (byCustomer.get(account.customer.customerKey) ?? []).flatMap(({ reservation, used }) =>
      listReserved(reservation, used)
    )
    return toChanges(account, returns)
  })
})

/** The changes that give back what an adjustment takes back of a counter. They replace the check of the customer. */
export const returnAdjusted = (account: CreditAccount, returned: MeterReturn) => toChanges(account, [returned])

/**
 * The credit of a receipt as it is when these returns have been given to the sources, which the next count or read does: what
 * returns to a grant is credit again, and what returns to one that has expired is gone.
 */
export const previewReturns = Effect.fnUntraced(function* (
  { bucketEntry, credit: customer }: Entitlement.Entitlement,
  returns: ReadonlyArray<MeterReturn>,
  now: DateTime.Utc,
  receipt: { readonly credit?: Readonly<Record<string, CreditTerms>> }
) {
  if (customer === undefined) return receipt
  const { value } = customer.account.credit
  const { customerKey } = value
  const bucket = bucketEntry.value
  const noted = noteReturns(value, returns)
  let preview = receipt
  for (const returned of returns) {
    const { meter, counter } = returned
    const credit = getMeterCredit(noted, meter)
    if (credit === undefined || credit === getMeterCredit(value, meter)) continue
    const spender = findSpender(customer, meter, now)
    const settled = yield* computeSettlement(bucket, customerKey, meter, credit, spender, now, returned)
    const { [meter]: _, ...others } = preview.credit ?? {}
    const terms = toTerms(settled.credit, counter)
    preview = { credit: terms === undefined ? others : { ...others, [meter]: terms } }
  }
  return preview
})
