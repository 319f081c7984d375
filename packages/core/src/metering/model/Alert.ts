/**
 * An alert of a customer: an event when the use of a meter reaches an amount, or what remains of it falls to one.
 */

import { Id, MeterName, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { ceilProduct } from "./decimalProduct.ts"
import type { Quota } from "./Quota.ts"

/** The id of an alert. It begins with `alr_`. */
export const AlertId = Id("alr").pipe(Schema.brand("AlertId"))
export type AlertId = typeof AlertId.Type

/** Beyond 1, it is a share of what a soft limit lets through. */
const maxShare = 100
const share = Schema.Finite.pipe(
  Schema.check(
    Schema.isBetween(
      { minimum: 0, exclusiveMinimum: true, maximum: maxShare },
      { expected: "a share of the maximum, above 0 and at most 100, such as 0.8" }
    )
  )
)
const isAmountFrom = (minimum: number) =>
  Schema.Int.pipe(
    Schema.check(
      Schema.isBetween({ minimum, maximum: Number.MAX_SAFE_INTEGER }, { expected: `an integer from ${minimum}` })
    )
  )

const exactlyOne = { message: "must have exactly one of usedShare, used, remaining and overage" }

/** When an alert is triggered. Reserved use counts when it is settled. */
export const AlertCondition = Schema.Struct({
  /** A share of the maximum was used: 0.8 is 80 %. */
  usedShare: Schema.optionalKey(share),
  used: Schema.optionalKey(isAmountFrom(1)),
  /** At most so much of allowance and credit is left. */
  remaining: Schema.optionalKey(isAmountFrom(0)),
  /** So much was used above allowance and credit. */
  overage: Schema.optionalKey(isAmountFrom(1))
})
  .pipe(Schema.check(Schema.isMinProperties(1, exactlyOne), Schema.isMaxProperties(1, exactlyOne)))
  .annotate({ identifier: "AlertCondition" })
export type AlertCondition = typeof AlertCondition.Type

const inputFields = { meter: MeterName, when: AlertCondition }

/** The input that makes an alert. */
export const AlertCreate = Schema.Struct(inputFields).annotate({ identifier: "AlertCreate" })
export type AlertCreate = typeof AlertCreate.Type

const fields = {
  id: AlertId,
  customerKey: Schema.String,
  ...inputFields,
  createdOn: Timestamp,
  lastTriggeredOn: Schema.optionalKey(Timestamp)
}

/** An alert of a customer. `lastTriggeredOn` is absent until it is triggered. */
export const Alert = Schema.Struct(fields).annotate({ identifier: "Alert" })
export type Alert = typeof Alert.Type
/** An alert, as plain JSON. */
export type AlertJson = typeof Alert.Encoded

/** What was last seen of a period. The counter identifies it, with the subscription. */
const SeenPeriod = Schema.Struct({ counter: Schema.String, isReached: Schema.Boolean })

export const StoredAlert = Schema.Struct({
  ...fields,
  /** The place in lists. */
  number: Schema.Int,
  /** The latest last. */
  seen: Schema.Array(SeenPeriod)
})
export type StoredAlert = typeof StoredAlert.Type

export const toAlert = ({ number: _, seen: __, ...alert }: StoredAlert): Alert => alert

/** Whether an amount is reached, or what remains has fallen to it. */
export const isReached = (
  { usedShare, used, remaining, overage }: AlertCondition,
  quota: Pick<Quota, "max" | "used" | "remaining" | "overage">
): boolean => {
  if (used !== undefined) return quota.used >= used
  if (remaining !== undefined) return quota.remaining <= remaining
  if (overage !== undefined) return (quota.overage ?? 0) >= overage
  return usedShare !== undefined && quota.max > 0 && quota.used >= ceilProduct(quota.max, usedShare)
}

/** Whether it is triggered again in a period in which it was not reached any more. */
export const canRepeat = ({ remaining }: AlertCondition): boolean => remaining !== undefined
