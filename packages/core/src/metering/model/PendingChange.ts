/**
 * A change that a subscription makes when its period ends: to other plans, or to the status `canceled`. It acts at that time
 * whether a job has written it or not, as the end of a trial does.
 */

import { Timestamp } from "@tollgate/store/internal"
import { DateTime, Schema } from "effect"
import { PlanId } from "./Plan.ts"

const effectiveOn = Timestamp.annotate({
  description: "When it acts: the end of the period in which it was requested."
})

export const StoredPendingChange = Schema.Struct({
  /** The new plans. */
  planIds: Schema.optionalKey(Schema.Array(PlanId)),
  /** The new status. */
  status: Schema.optionalKey(Schema.Literal("canceled")),
  effectiveOn
})
export type StoredPendingChange = typeof StoredPendingChange.Type

/** What a subscription changes to at the end of its period: new plans, or the status `canceled`. */
export const PendingChange = Schema.Struct({
  ...StoredPendingChange.fields,
  planExternalIds: Schema.optionalKey(Schema.Array(Schema.String))
}).annotate({ identifier: "PendingChange" })
export type PendingChange = typeof PendingChange.Type

interface MayChange {
  readonly pendingChange?: StoredPendingChange
}

/** The change that acts by now, and that no job has written yet. */
export const getDueChange = ({ pendingChange }: MayChange, now: DateTime.Utc): StoredPendingChange | undefined =>
  pendingChange !== undefined && DateTime.isLessThanOrEqualTo(pendingChange.effectiveOn, now)
    ? pendingChange
    : undefined

/** The plans that a subscription has, and those that it will have. */
export const getPlanIds = ({
  planIds,
  pendingChange
}: MayChange & { readonly planIds: ReadonlyArray<PlanId> }): ReadonlyArray<PlanId> =>
  pendingChange?.planIds === undefined ? planIds : [...new Set([...planIds, ...pendingChange.planIds])]
