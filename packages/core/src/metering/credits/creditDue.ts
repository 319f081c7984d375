/**
 * Whether the segments of a customer are those that are to be counted in: no grant has begun or expired since, and the newest
 * subscription that may consume and has the meter is still the same, in the same period and with the same maximum.
 */

import type { DateTime } from "effect"
import type { MeterCredit } from "../model/Credit.ts"
import * as Entitlement from "../model/Entitlement.ts"

/** The counter of a meter whose subscription spends the credit, and the maximum of its plans. */
export interface Spender {
  readonly counter: string
  readonly max: number
  /** Epoch milliseconds. Absent if the period never ends. */
  readonly endsOn: number | undefined
}

export const findSpender = (
  { entitlements }: Entitlement.CustomerCredit,
  meter: string,
  now: DateTime.Utc
): Spender | undefined => {
  const found = Entitlement.findMeter(entitlements, meter, now)
  if (found === undefined) return undefined
  const { counter, max, otherPeriod = found.limits.period } = found.limit
  return { counter, max, endsOn: otherPeriod.end?.epochMilliseconds }
}

const isMeterDue = (
  { dueOn = Number.POSITIVE_INFINITY, open, isWaiting = false }: MeterCredit,
  spender: Spender | undefined,
  now: DateTime.Utc
): boolean => {
  if (dueOn <= now.epochMilliseconds) return true
  if (open === undefined) return isWaiting && spender !== undefined
  return open.counter !== spender?.counter || open.max !== spender.max
}

/** The meters whose segments must be closed before anything is counted. */
export const listDueMeters = (credit: Entitlement.CustomerCredit, now: DateTime.Utc): ReadonlyArray<string> =>
  Object.entries(credit.account.credit.value.meters).flatMap(([meter, stored]) =>
    isMeterDue(stored, findSpender(credit, meter, now), now) ? [meter] : []
  )

/** Whether anything is due. Looked at once, until a grant begins or expires, or a subscription has another period or status. */
export const isCreditDue = (credit: Entitlement.CustomerCredit, now: DateTime.Utc): boolean => {
  const { settledUntil } = credit
  const millis = now.epochMilliseconds
  if (settledUntil !== undefined && settledUntil.from <= millis && millis < settledUntil.until) return false
  if (listDueMeters(credit, now).length > 0) return true
  let [from, until] = [0, Number.POSITIVE_INFINITY]
  for (const { dueOn = until } of Object.values(credit.account.credit.value.meters)) until = Math.min(until, dueOn)
  for (const entitlement of credit.entitlements) {
    const limits = Entitlement.limitsAt(entitlement, now)
    // If the clock is behind, these limits begin later.
    from = Math.max(from, Math.min(limits.appliesFrom, millis))
    until = Math.min(until, limits.appliesUntil)
  }
  credit.settledUntil = { from, until }
  return false
}
