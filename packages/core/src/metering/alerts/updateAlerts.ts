/**
 * Writes what is seen of the alerts of a customer, and the events of those that are triggered, in one commit. It fails if
 * another process has written it, or if plans, subscriptions or credit have changed: so each event is written once.
 */

import { AllowedShare, type Change, retryOnConflict, Store } from "@tollgate/store/internal"
import { type DateTime, Effect } from "effect"
import { readSettledCustomer } from "../credits/settleCredit.ts"
import type { AlertId } from "../model/Alert.ts"
import { alertRecords } from "../model/alertRecords.ts"
import type * as Entitlement from "../model/Entitlement.ts"
import { recordTriggered } from "./alertEvents.ts"
import { getSeen, judgeAlert } from "./judgeAlert.ts"
import { readAlerts } from "./readAlerts.ts"

/** What was seen of an alert in the present period. */
export interface SeenAlert {
  readonly id: AlertId
  readonly counter: string
  readonly isReached: boolean
}

/** Several subscriptions have preconditions in common. */
const collectPreconditions = (entitlements: ReadonlyArray<Entitlement.Entitlement>): ReadonlyArray<Change> => {
  const all = entitlements.flatMap(({ preconditions }) => preconditions)
  return [...new Map(all.map((change) => ["key" in change ? change.key : change, change])).values()]
}

/** Fails with a `StoreConflict` if the entitlements are outdated. */
const updateOnce = Effect.fnUntraced(function* (
  { stored, entitlements }: Entitlement.CustomerAlerts,
  now: DateTime.Utc
) {
  const names = stored.value.alerts.map(({ meter }) => meter)
  const read = yield* readAlerts(stored.value.customerKey, entitlements, names, now)
  const { entry, readings } = read
  const [first] = read.entitlements
  if (entry === undefined || first === undefined) return []
  const judged = entry.value.alerts.map((alert) => judgeAlert(alert, readings.get(alert.meter) ?? [], now))
  const alerts = judged.map(({ alert }) => alert)
  if (alerts.some((alert, index) => alert !== entry.value.alerts[index])) {
    const events = yield* Effect.forEach(
      judged.flatMap(({ alert, triggering }) => triggering.map((reading) => ({ alert, reading }))),
      ({ alert, reading }) => recordTriggered(first.bucketEntry.value, alert, reading)
    )
    const changes = [
      ...collectPreconditions(read.entitlements),
      alertRecords.replace(entry, { ...entry.value, alerts }),
      ...events
    ]
    // Also in an account that is full: it is what an alert is for.
    yield* Effect.provideService(
      (yield* Store).commit(first.partition, changes),
      AllowedShare,
      Number.POSITIVE_INFINITY
    )
  }
  return alerts.flatMap((alert): ReadonlyArray<SeenAlert> => {
    const counter = readings.get(alert.meter)?.at(-1)?.counter
    return counter === undefined ? [] : [{ id: alert.id, counter, isReached: getSeen(alert, counter) === true }]
  })
})

/** Looks at the alerts of a customer as it is now. Returns what is seen of them. */
export const updateAlertsOf = (accountName: string, bucketId: string, customerKey: string, now: DateTime.Utc) =>
  retryOnConflict(
    Effect.flatMap(readSettledCustomer(accountName, bucketId, customerKey, now), ({ alerts }) =>
      alerts === undefined ? Effect.succeed([]) : updateOnce(alerts, now)
    )
  )

/** Looks at alerts that were read with the entitlements of a customer, and reads them again if they are outdated. */
export const updateAlerts = (alerts: Entitlement.CustomerAlerts, now: DateTime.Utc) =>
  Effect.catchTag(updateOnce(alerts, now), "StoreConflict", (conflict) => {
    const bucket = alerts.entitlements[0]?.bucketEntry.value
    return bucket === undefined
      ? Effect.fail(conflict)
      : updateAlertsOf(bucket.accountName, bucket.id, alerts.stored.value.customerKey, now)
  })
