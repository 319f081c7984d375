/** The state of a plan, in words. */
import { formatDate } from "@tollgate/ui/format/time.ts"
import { fill } from "@tollgate/ui/words.ts"
import { texts } from "../texts/texts.ts"
import type { PortalPlansJson } from "../types.ts"

interface PlanState {
  readonly label: string
  readonly tone: "good" | "warning" | "bad" | "neutral"
}

const states: Readonly<Record<string, PlanState>> = {
  active: { label: texts.planActive, tone: "good" },
  trialing: { label: texts.planTrial, tone: "good" },
  "past-due": { label: texts.planUnpaid, tone: "bad" },
  unpaid: { label: texts.planUnpaid, tone: "bad" },
  incomplete: { label: texts.planUnpaid, tone: "warning" },
  "incomplete-expired": { label: texts.planInactive, tone: "neutral" },
  inactive: { label: texts.planInactive, tone: "neutral" },
  canceled: { label: texts.planCanceled, tone: "neutral" }
}

/** Of a state that the page does not know it says nothing. */
export const getPlanState = (status: string): PlanState | undefined =>
  Object.hasOwn(states, status) ? states[status] : undefined

/** When something happens with the plan, and what. */
export const describeNextChange = ({ current, pending }: PortalPlansJson): string | undefined => {
  if (pending !== undefined) {
    const date = formatDate(pending.on)
    return pending.name === undefined
      ? fill(texts.planEnds, { date })
      : fill(texts.planChanges, { plan: pending.name, date })
  }
  return current?.trialEndsOn === undefined
    ? undefined
    : fill(texts.planTrialEnds, { date: formatDate(current.trialEndsOn) })
}
