/**
 * Notices when a count may have triggered an alert, from what the count knows: the alerts come with its entitlement, and what
 * was seen of them is remembered. Only then does it look at them, after the count and in a commit of its own. A failure never
 * affects what was counted: another count, or the background work, looks at them again.
 */

import { BoundedMap, Store, type StoreOperations, type TrustedClock } from "@tollgate/store/internal"
import { Effect } from "effect"
import { type AlertId, canRepeat, isReached } from "../model/Alert.ts"
import * as Entitlement from "../model/Entitlement.ts"
import { makeQuota } from "../model/Quota.ts"
import { updateAlerts } from "./updateAlerts.ts"

/** How many alerts and periods a process remembers. */
const maxRemembered = 20_000

type Counted = Readonly<Record<string, { readonly used: number }>>

export const makeNoteAlerts = (store: StoreOperations, trustedClock: TrustedClock["Service"]) => {
  const seen = new BoundedMap<string, boolean>(maxRemembered)
  /** Counters whose reservations, once they are settled, may trigger an alert. */
  const awaited = new BoundedMap<string, true>(maxRemembered)
  const toKey = (id: AlertId, counter: string) => `${id} ${counter}`

  /** Looks at the alerts of a customer. */
  const look = (alerts: Entitlement.CustomerAlerts): Effect.Effect<void> =>
    Effect.gen(function* () {
      const updated = yield* updateAlerts(alerts, yield* trustedClock.now)
      for (const { id, counter, isReached } of updated) seen.set(toKey(id, counter), isReached)
    }).pipe(
      Effect.provideService(Store, store),
      Effect.catchCause((cause) => Effect.logDebug("Looking at the alerts of a customer failed", cause))
    )

  /** Looks at alerts if a count may have triggered one, or may have left what it watches. */
  const note = (
    alerts: Entitlement.CustomerAlerts,
    { meters, usageId }: Entitlement.PeriodLimits,
    counted: Counted
  ): Effect.Effect<void> | undefined => {
    const reached = new Set<string>()
    let isNews = false
    for (const { id, meter, when } of alerts.stored.value.alerts) {
      const used = Object.hasOwn(counted, meter) ? counted[meter]?.used : undefined
      const limit = meters.get(meter)
      if (used === undefined || limit === undefined) continue
      const isReachedNow = isReached(when, makeQuota(limit.max, used, undefined, limit.credit))
      const before = seen.get(toKey(id, limit.counter))
      if (isReachedNow === before || (!isReachedNow && !canRepeat(when))) continue
      isNews = true
      if (isReachedNow) reached.add(limit.counter)
    }
    if (!isNews) return undefined
    return Effect.flatMap(trustedClock.now, (now) => {
      // Another subscription of the customer, which is not the one that counts.
      const isWatched = [...meters.keys()].some(
        (meter) => Entitlement.findMeter(alerts.entitlements, meter, now)?.limits.usageId === usageId
      )
      if (!isWatched) return Effect.void
      for (const counter of reached) awaited.set(counter, true)
      return look(alerts)
    })
  }

  return {
    look,
    note,
    /** Whether an alert may be triggered when what is reserved on a counter is used. Known from the counts of this process. */
    isAwaited: (counter: string): boolean => awaited.has(counter)
  }
}
