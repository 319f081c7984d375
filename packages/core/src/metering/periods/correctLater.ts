/**
 * The changes that have closed periods looked at again, because usage is added to them. The usage must come with a change of
 * the ledger, which closing a period checks.
 */

import type { Change, Partition, Store, StoreError } from "@tollgate/store/internal"
import { DateTime, Effect, Option } from "effect"
import type { DueWork } from "../../jobs/DueWork.ts"
import type { PeriodId } from "../model/Period.ts"
import { closingRecords, isClosed, withChange } from "../model/periodClosings.ts"
import { periodsJob } from "./closingSchedule.ts"

/** What comes until then is corrected together. */
const correctionDelay = { minutes: 1 }

/** Call it before the commit. */
export const correctLater = Effect.fnUntraced(function* (
  dueWork: DueWork["Service"],
  partition: Partition.Partition,
  accountName: string,
  usageId: string,
  periods: ReadonlyArray<PeriodId>,
  now: DateTime.Utc
): Effect.fn.Return<ReadonlyArray<Change>, StoreError, Store> {
  if (periods.length === 0) return []
  const found = yield* closingRecords.get(partition, usageId)
  if (Option.isNone(found)) return []
  const closing = found.value
  if (closing.value.isChanged === true || !periods.some((id) => isClosed(closing.value, id))) {
    return [closingRecords.assertUnchanged(closing)]
  }
  const dueOn = DateTime.addDuration(now, correctionDelay)
  yield* dueWork.ensure(periodsJob, partition, Effect.succeed(accountName), dueOn)
  return [closingRecords.replace(closing, withChange(closing.value, dueOn))]
})
