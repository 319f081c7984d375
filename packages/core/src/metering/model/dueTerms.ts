/**
 * Index terms for finding subscriptions that change by themselves, without reading the others: at the end of a trial, and by
 * a pending change.
 */

import { makeTimeIndex } from "@tollgate/store/internal"
import type { DateTime } from "effect"
import type { StoredSubscription } from "./Subscription.ts"
import { getDueTimes } from "./subscriptionAt.ts"

/** Stored. */
const dueTimes = makeTimeIndex("trial-ends", "hour")

export const dueTerms = (subscription: StoredSubscription): ReadonlyArray<string> => [
  ...new Set(getDueTimes(subscription).flatMap(dueTimes.terms))
]

/** Subscriptions that change at a time. The name is stored. */
export const dueChangesJob = { name: "trials" }

/** The terms that cover all changes after the current hour, the earliest first, and when each begins. */
export const laterTerms = dueTimes.termsAfter

/** The terms that cover all changes that are due. The last one also has those that come later in the current hour. */
export const termsUntil = (now: DateTime.Utc): ReadonlyArray<string> => dueTimes.termsUntil(now)
