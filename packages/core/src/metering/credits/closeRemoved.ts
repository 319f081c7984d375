/**
 * The changes that charge grants what a subscription has used that is removed, with its counters.
 */

import type { Change } from "@tollgate/store/internal"
import { type DateTime, Effect } from "effect"
import { type CreditAccount, creditRecords, type MeterCredit } from "../model/Credit.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import { getCountedId } from "../model/usageCounters.ts"
import { computeSettlement, withMeter } from "./settleCredit.ts"

const forget = (credit: MeterCredit, isOf: (counter: string) => boolean): MeterCredit => ({
  ...credit,
  // The next count opens a segment of another subscription, if there is one.
  dueOn: 0,
  closed: credit.closed.filter(({ counter }) => !isOf(counter)),
  periods: Object.fromEntries(Object.entries(credit.periods).filter(([counter]) => !isOf(counter)))
})

/** Without the new version of the customer, which the removal writes. `usageId`: the id under which usage is removed. */
export const closeRemoved = Effect.fnUntraced(function* (
  bucket: MeteringBucket,
  { credit }: CreditAccount,
  usageId: string,
  now: DateTime.Utc
) {
  if (credit === undefined) return []
  const isOf = (counter: string) => getCountedId(counter) === usageId
  const changes: Array<Change> = []
  let { value } = credit
  for (const [meter, stored] of Object.entries(credit.value.meters)) {
    if (!Object.keys(stored.periods).some(isOf)) continue
    const closing = yield* computeSettlement(bucket, value.customerKey, meter, stored, undefined, now)
    value = withMeter(value, meter, forget(closing.credit, isOf))
    changes.push(...closing.changes)
  }
  return value === credit.value ? [] : [creditRecords.replace(credit, value), ...changes]
})
