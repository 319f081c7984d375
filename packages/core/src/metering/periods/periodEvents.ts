/**
 * The changes that record that a period was closed, or corrected.
 */

import { skipChecks } from "@tollgate/store/internal"
import { DateTime, Effect, Option, Schema } from "effect"
import { asSystem } from "../../outbox/CurrentActor.ts"
import { recordEvent } from "../../outbox/recordEvent.ts"
import { ClosedPeriod, CorrectedPeriod, type MetersTotals, type MeterTotals } from "../model/ClosedPeriod.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import type { ToldPeriod } from "../model/periodClosings.ts"
import type { StoredSubscription } from "../model/Subscription.ts"

/** With more, those that were not used are left out of the event. */
const maxUnused = 50

const encodeClosed = Schema.encodeSync(ClosedPeriod, skipChecks)
const encodeCorrected = Schema.encodeSync(CorrectedPeriod, skipChecks)

const isEqual = (left: MeterTotals, right: MeterTotals): boolean =>
  left.used === right.used && left.credit === right.credit && left.overage === right.overage

const nothing: MeterTotals = { used: 0, allowance: 0, credit: 0, overage: 0 }

const get = (meters: MetersTotals, meter: string): MeterTotals =>
  Object.hasOwn(meters, meter) ? (meters[meter] ?? nothing) : nothing

/** What was told before of the meters that have changed. */
const findPrevious = (before: MetersTotals, after: MetersTotals): MetersTotals =>
  Object.fromEntries(
    [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((meter) => {
      const told = get(before, meter)
      return isEqual(told, get(after, meter)) ? [] : [[meter, told]]
    })
  )

const dropUnused = (meters: MetersTotals): MetersTotals =>
  Object.keys(meters).length <= maxUnused
    ? meters
    : Object.fromEntries(Object.entries(meters).filter(([, { used }]) => used > 0))

/**
 * Records what a period has now, if that is not what was told. Returns the change, and what is told then. The first event of a
 * period is `period.closed`.
 */
export const tell = Effect.fnUntraced(function* (
  bucket: MeteringBucket,
  subscription: Pick<StoredSubscription, "id" | "customerKey" | "customerExternalId">,
  usageId: string,
  before: MetersTotals,
  period: ToldPeriod
) {
  const meters = dropUnused(period.meters)
  const previous = findPrevious(before, meters)
  const isFirst = period.revision === 0
  if (isFirst ? Object.keys(meters).length === 0 : Object.keys(previous).length === 0) return Option.none()
  const told: ToldPeriod = { ...period, meters, revision: period.revision + 1 }
  const { kind, start, end, revision, status, planExternalIds, closedBy } = told
  const periodStart = DateTime.makeUnsafe(start)
  const { id: subscriptionId, customerKey, customerExternalId } = subscription
  const data: ClosedPeriod = {
    id: `${usageId}:${kind}:${DateTime.formatIso(periodStart)}`,
    revision,
    meteringBucketId: bucket.id,
    subscriptionId,
    customerKey,
    customerExternalId,
    planExternalIds,
    status,
    period: kind,
    periodStart,
    periodEnd: DateTime.makeUnsafe(end),
    closedBy,
    meters
  }
  const fields = {
    accountName: bucket.accountName,
    subject: { type: "subscription", id: subscriptionId, name: customerKey }
  }
  const change = yield* asSystem(
    isFirst
      ? recordEvent("period.closed", { ...fields, data: encodeClosed(data) })
      : recordEvent("period.corrected", { ...fields, data: encodeCorrected({ ...data, previous }) })
  )
  return Option.some({ change, told })
})
