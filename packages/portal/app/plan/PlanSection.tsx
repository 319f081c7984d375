import { get } from "@tollgate/ui/api/request.ts"
import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useState } from "preact/hooks"
import { toPortalPath } from "../session/session.ts"
import { texts } from "../texts/texts.ts"
import type { OfferJson, PortalPlansJson } from "../types.ts"
import { ChangePlanDialog } from "./ChangePlanDialog.tsx"
import { describeNextChange, getPlanState } from "./describePlan.ts"
import { Offer } from "./Offer.tsx"
import { planRevision } from "./planRevision.ts"

const CurrentPlan = ({ plan }: { readonly plan: PortalPlansJson }) => {
  if (plan.current === undefined) return <p class="hint">{texts.planNone}</p>
  const state = getPlanState(plan.current.status)
  return (
    <div class="current-plan">
      <p class="row-title">
        <strong>{plan.current.name}</strong>
        {state !== undefined && <Badge tone={state.tone}>{state.label}</Badge>}
      </p>
      <p class="hint">{describeNextChange(plan)}</p>
    </div>
  )
}

export interface PlanSectionProps {
  /** Whether the session may change the plan. */
  readonly canChange: boolean
  /** Whether the page can change it, or only the links of the offers. */
  readonly canOrder: boolean
}

/** The plan of the customer, and those that are offered. */
export const PlanSection = ({ canChange, canOrder }: PlanSectionProps) => {
  const plan = useQuery(`plan ${planRevision.value}`, (signal) =>
    get<PortalPlansJson>(toPortalPath("/plan"), {}, signal)
  )
  const [chosen, setChosen] = useState<OfferJson>()
  return (
    <Section title={texts.plan}>
      <QueryView query={plan}>
        {(data) => (
          <>
            <CurrentPlan plan={data} />
            {canChange && data.data.length > 0 && (
              <ul class="offers">
                {data.data.map((offer) => (
                  <Offer key={offer.name} offer={offer} canOrder={canOrder} onChoose={() => setChosen(offer)} />
                ))}
              </ul>
            )}
          </>
        )}
      </QueryView>
      {chosen !== undefined && (
        <ChangePlanDialog offer={chosen} currentName={plan.data?.current?.name} onClose={() => setChosen(undefined)} />
      )}
    </Section>
  )
}
