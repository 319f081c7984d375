import type { UseRecorder } from "../groups/UseRecorder.ts"
import { getDayOfHour } from "../model/clockSteps.ts"
import type { UsedBy } from "../model/Labels.ts"
import type { Amounts } from "../model/Quota.ts"
import { getUsageId, type StoredReservation } from "../model/reservationRecords.ts"

/** Notes by which key and under which labels a reservation was used, on the day on which it was made. */
export const noteReserved = (
  { note }: UseRecorder["Service"],
  bucketId: string,
  reservation: StoredReservation,
  amounts: Amounts,
  usedBy: UsedBy | undefined
): void => {
  if (usedBy === undefined) return
  note(bucketId, { usageId: getUsageId(reservation), day: getDayOfHour(reservation.hour), amounts, usedBy })
}
