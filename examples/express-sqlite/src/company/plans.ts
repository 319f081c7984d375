/** What the company sells: plans of an API that counts requests and tokens. */
import type { Random } from "./random.ts"

export const plans = [
  {
    label: "Starter",
    planExternalId: "starter",
    meters: { requests: { label: "Requests", max: 25 }, tokens: { label: "Tokens", max: 40_000 } },
    rateLimits: { default: { limit: 5, per: "minute" } }
  },
  {
    label: "Pro",
    planExternalId: "pro",
    trialDays: 14,
    meters: { requests: { label: "Requests", max: 160 }, tokens: { label: "Tokens", max: 250_000 } },
    rateLimits: { default: { limit: 10, per: "minute" } }
  },
  {
    label: "Scale",
    planExternalId: "scale",
    meters: { requests: { label: "Requests", max: 1_000 }, tokens: { label: "Tokens", max: 1_500_000 } },
    rateLimits: { default: { limit: 60, per: "minute" } }
  }
] as const

export type PlanName = (typeof plans)[number]["planExternalId"]

/** How many of 100 customers have which plan, and how many requests they make on a usual day. */
const shares: ReadonlyArray<readonly [upTo: number, plan: PlanName, min: number, max: number]> = [
  [0.6, "starter", 0, 1],
  [0.92, "pro", 1, 5],
  [1, "scale", 7, 25]
]

export const pickPlan = (random: Random): { readonly plan: PlanName; readonly requestsPerDay: number } => {
  const share = random.next()
  const [, plan, min, max] = shares.find(([upTo]) => share < upTo) ?? ([1, "starter", 0, 1] as const)
  return { plan, requestsPerDay: random.integer(min * 10, max * 10) / 10 }
}
