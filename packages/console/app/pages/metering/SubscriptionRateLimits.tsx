import { Section } from "@tollgate/ui/components/Section.tsx"
import type { PlanJson } from "../../api/types.ts"
import { RateLimitTable } from "./RateLimitTable.tsx"

/** The rate limits of a subscription's plans. Of two with the same name, the server applies the higher one. */
export const SubscriptionRateLimits = ({ plans }: { readonly plans: ReadonlyArray<PlanJson> }) => {
  const limited = plans.filter(({ rateLimits = {} }) => Object.keys(rateLimits).length > 0)
  if (limited.length === 0) return null
  return (
    <Section title="Rate limits">
      {limited.map((plan) => (
        <div key={plan.id}>
          {limited.length > 1 && <h3>{plan.label}</h3>}
          <RateLimitTable plan={plan} />
        </div>
      ))}
      {limited.length > 1 && <p class="hint">Of limits with the same name, the higher one applies.</p>}
    </Section>
  )
}
