/**
 * Index terms for finding ended trials without reading the others.
 */
import type { DateTime } from "effect"
import { makeTimeIndex } from "../../schema/timeIndex.ts"
import type { StoredSubscription } from "./Subscription.ts"

const ends = makeTimeIndex("trial-ends", "hour")

export const trialTerms = ({ status, trialEndDate }: StoredSubscription): ReadonlyArray<string> =>
  status === "trialing" && trialEndDate !== undefined ? ends.terms(trialEndDate) : []

/** The terms that cover all ended trials. The last one also has trials that end later in the current hour. */
export const endedTrialTerms = (now: DateTime.Utc): ReadonlyArray<string> => ends.termsUntil(now)
