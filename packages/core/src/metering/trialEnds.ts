/**
 * Index terms for finding ended trials without reading the others.
 */
import type { DateTime } from "effect"
import { makeTimeIndex } from "../schema/timeIndex.ts"
import type { StoredSubscription } from "./Subscription.ts"

/** A term of every trialing subscription, whether or not its trial has an end. */
export const trialIndexedTerm = "trial-indexed"

const ends = makeTimeIndex("trial-ends", "hour")

export const trialTerms = ({ status, trialEndDate }: StoredSubscription): ReadonlyArray<string> => {
  if (status !== "trialing") return []
  return trialEndDate === undefined ? [trialIndexedTerm] : [trialIndexedTerm, ...ends.terms(trialEndDate)]
}

/** The terms that cover all ended trials. The last one also has trials that end later in the current hour. */
export const endedTrialTerms = (now: DateTime.Utc): ReadonlyArray<string> => ends.termsUntil(now)
