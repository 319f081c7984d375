/**
 * The events of alerts. The subject is the alert; its name is the customer.
 */

import { omitUndefined, skipChecks, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { asSystem } from "../../outbox/CurrentActor.ts"
import { recordEvent } from "../../outbox/recordEvent.ts"
import { Alert, type StoredAlert, toAlert } from "../model/Alert.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import type { Reading } from "./judgeAlert.ts"

/** The data of the event `alert.triggered`: the alert, and the use that triggered it. */
export const TriggeredAlert = Schema.Struct({
  ...Alert.fields,
  meteringBucketId: Schema.String,
  subscriptionId: Schema.String,
  max: Schema.Finite,
  used: Schema.Finite,
  remaining: Schema.Finite,
  overage: Schema.Finite,
  periodStart: Timestamp,
  /** Absent if the quota never resets. */
  resetsOn: Schema.optionalKey(Timestamp)
})

const encodeAlert = Schema.encodeSync(Alert, skipChecks)
const encodeTriggered = Schema.encodeSync(TriggeredAlert, skipChecks)

const toFields = ({ accountName }: MeteringBucket, { id, customerKey }: Alert) => ({
  accountName,
  subject: { type: "alert", id, name: customerKey }
})

export const recordAlertEvent = (type: "alert.created" | "alert.deleted", bucket: MeteringBucket, alert: Alert) =>
  recordEvent(type, { ...toFields(bucket, alert), data: encodeAlert(alert) })

export const recordTriggered = (bucket: MeteringBucket, stored: StoredAlert, reading: Reading) => {
  const alert = toAlert(stored)
  const { subscriptionId, period, quota } = reading
  const { max, used, remaining, overage = 0 } = quota
  const data = encodeTriggered({
    ...alert,
    meteringBucketId: bucket.id,
    subscriptionId,
    ...{ max, used, remaining, overage },
    periodStart: period.start,
    ...omitUndefined({ resetsOn: period.end })
  })
  return asSystem(recordEvent("alert.triggered", { ...toFields(bucket, alert), data }))
}
