/**
 * Closes the open segment of a meter: charges what was counted in it to its sources, gives back what is to be given back, and
 * opens the next segment with the sources of now. Only computes.
 */

import { DateTime } from "effect"
import { type ClosedSegment, type MeterCredit, type Return, toTerms } from "../model/Credit.ts"
import { dayMs } from "../model/clockSteps.ts"
import { getCreditUsed } from "../model/creditTerms.ts"
import { isOpen, type StoredGrant, spendingOrder, stateAt, take } from "../model/Grant.ts"
import { isLong } from "../model/longPeriods.ts"
import { getCountedPeriod } from "../model/usageCounters.ts"
import type { Spender } from "./creditDue.ts"

/** The charges of a period are kept for a while after its end, because the clocks of other processes may be behind. */
const keptAfterEndMs = 2 * dayMs
/** Those of a month or year are kept until it is closed, also after a downtime. */
const longKeptAfterEndMs = 400 * dayMs

const getKeptMs = (counter: string): number => (isLong(getCountedPeriod(counter)) ? longKeptAfterEndMs : keptAfterEndMs)

interface Settling {
  readonly credit: MeterCredit
  /** By id, all that are open or that are given something back. Those that change are replaced. */
  readonly grants: Map<string, StoredGrant>
  readonly readCounter: (counter: string) => number
}

/** What each source has given in the open segment. */
export const getCharges = ({ open, ...credit }: MeterCredit, value: number): ClosedSegment | undefined => {
  if (open === undefined) return undefined
  const { number, counter, start, allowance, sources } = open
  const terms = toTerms({ ...credit, open }, counter)
  let rest = terms === undefined ? 0 : getCreditUsed(terms, value)
  const overage = Math.max(0, value - start - allowance - rest)
  const given = []
  for (const { id, amount } of sources) {
    const part = Math.min(rest, amount)
    rest -= part
    if (part > 0) given.push({ id, amount: part })
  }
  return { number, counter, overage, given }
}

const addCredit = (credit: MeterCredit, counter: string, amount: number): MeterCredit => {
  if (amount === 0) return credit
  const period = credit.periods[counter] ?? { credit: 0 }
  return { ...credit, periods: { ...credit.periods, [counter]: { ...period, credit: period.credit + amount } } }
}

const closeSegment = ({ credit: { open, ...credit }, grants, readCounter }: Settling): MeterCredit => {
  if (open === undefined) return credit
  const charges = getCharges({ ...credit, open }, readCounter(open.counter))
  if (charges === undefined || (charges.given.length === 0 && charges.overage === 0)) return credit
  let total = 0
  for (const { id, amount } of charges.given) {
    const grant = grants.get(id)
    if (grant !== undefined) grants.set(id, take(grant, open.counter, amount))
    total += amount
  }
  return addCredit({ ...credit, closed: [...credit.closed, charges] }, open.counter, total)
}

const getTaken = ({ taken }: StoredGrant, counter: string): number =>
  Object.hasOwn(taken, counter) ? (taken[counter] ?? 0) : 0

/** Gives an amount back. `ofPlans`: what plans have given in the period, and overage. Returns what remains of that. */
const giveBack = (
  { grants }: Settling,
  credit: MeterCredit,
  { counter, amount, segment, isAdjustment = false }: Return,
  ofPlans: number,
  max: number
) => {
  let rest = amount
  let plans = ofPlans
  let returned = 0
  const returnToPlans = (most: number) => {
    const part = Math.max(0, Math.min(rest, most, plans))
    rest -= part
    plans -= part
    return part
  }
  const returnToGrant = (id: string, most: number) => {
    const grant = grants.get(id)
    if (grant === undefined) return 0
    const part = Math.min(rest, most, getTaken(grant, counter))
    if (part > 0) grants.set(id, take(grant, counter, -part))
    rest -= part
    returned += part
    return part
  }
  const closed = credit.closed.find(({ number }) => number === segment)
  const left: ClosedSegment | undefined = closed && {
    ...closed,
    overage: closed.overage - returnToPlans(closed.overage),
    given: closed.given
      .toReversed()
      .map(({ id, amount }) => ({ id, amount: amount - returnToGrant(id, amount) }))
      .toReversed()
  }
  if (isAdjustment) returnToPlans(ofPlans - max)
  else returnToPlans(rest)
  // What was charged last.
  for (const grant of [...grants.values()].sort(spendingOrder).toReversed()) returnToGrant(grant.id, rest)
  returnToPlans(rest)
  const rewritten = credit.closed.map((other) => (other === closed && left !== undefined ? left : other))
  return { credit: addCredit({ ...credit, closed: rewritten }, counter, -returned), plans }
}

const giveAllBack = (settling: Settling, closed: MeterCredit, max: number): MeterCredit => {
  let credit = closed
  const pending = new Map<string, number>()
  for (const { counter, amount } of credit.returns) pending.set(counter, (pending.get(counter) ?? 0) + amount)
  const ofPlans = new Map<string, number>()
  for (const [counter, amount] of pending) {
    // The counter is lower already.
    ofPlans.set(counter, settling.readCounter(counter) + amount - (credit.periods[counter]?.credit ?? 0))
  }
  for (const returned of closed.returns) {
    const result = giveBack(settling, credit, returned, ofPlans.get(returned.counter) ?? 0, max)
    ofPlans.set(returned.counter, result.plans)
    credit = result.credit
  }
  return { ...credit, returns: [] }
}

const openSegment = (
  credit: MeterCredit,
  grants: ReadonlyArray<StoredGrant>,
  { counter, max, endsOn }: Spender,
  start: number
): MeterCredit => {
  const period = { credit: credit.periods[counter]?.credit ?? 0, ...(endsOn === undefined ? {} : { endsOn }) }
  return {
    ...credit,
    nextSegment: credit.nextSegment + 1,
    periods: { ...credit.periods, [counter]: period },
    open: {
      number: credit.nextSegment,
      counter,
      start,
      max,
      allowance: Math.max(0, max - (start - period.credit)),
      sources: grants.map(({ id, amount, used }) => ({ id, amount: amount - used }))
    }
  }
}

/** Forgets the charges of periods that ended long ago. */
const dropOldPeriods = (credit: MeterCredit, now: number): MeterCredit => {
  const isNeeded = (counter: string) =>
    credit.open?.counter === counter || credit.closed.some((segment) => segment.counter === counter)
  const kept = Object.entries(credit.periods).filter(
    ([counter, { endsOn = Number.POSITIVE_INFINITY }]) => endsOn + getKeptMs(counter) > now || isNeeded(counter)
  )
  return { ...credit, periods: Object.fromEntries(kept) }
}

/** The credit of a meter with the segment of now. Grants are replaced with their use and state of now. */
export const settleMeter = (settling: Settling, spender: Spender | undefined, now: DateTime.Utc): MeterCredit => {
  const { credit: before, grants, readCounter } = settling
  const max = before.open?.max ?? spender?.max ?? 0
  const { dueOn: _, isWaiting: __, ...settled } = giveAllBack(settling, closeSegment(settling), max)
  for (const [id, grant] of grants) {
    const state = stateAt(grant, now)
    if (state !== grant.state) grants.set(id, { ...grant, state })
  }
  const open = [...grants.values()].filter(isOpen).sort(spendingOrder)
  const active = open.filter(({ state }) => state === "active")
  const times = open.flatMap(({ state, effectiveOn, expiresOn }) =>
    state === "pending" ? [effectiveOn] : expiresOn === undefined ? [] : [expiresOn]
  )
  const credit: MeterCredit = {
    ...settled,
    settledOn: now.epochMilliseconds,
    ...(times.length === 0 ? {} : { dueOn: Math.min(...times.map(DateTime.toEpochMillis)) }),
    ...(active.length > 0 && spender === undefined ? { isWaiting: true } : {})
  }
  const next =
    active.length === 0 || spender === undefined
      ? credit
      : openSegment(credit, active, spender, readCounter(spender.counter))
  const kept = dropOldPeriods(next, now.epochMilliseconds)
  for (const [id, grant] of grants) {
    const taken = Object.entries(grant.taken).filter(([counter]) => Object.hasOwn(kept.periods, counter))
    if (taken.length < Object.keys(grant.taken).length) {
      grants.set(id, { ...grant, taken: Object.fromEntries(taken) })
    }
  }
  return kept
}
