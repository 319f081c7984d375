import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { formatQuantity } from "@tollgate/ui/format/numbers.ts"
import { useState } from "preact/hooks"
import type { PlanJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { useList } from "../../data/useList.ts"
import { canWrite } from "../../session/session.ts"
import { CreatePlanDialog } from "./CreatePlanDialog.tsx"
import { linkToPlan, toBucketPath } from "./meteringAddresses.ts"
import { describeMeter, describeRateLimit, toPlanInput } from "./planForm.ts"

export const PlanList = ({ account, bucket }: { readonly account: string; readonly bucket: string }) => {
  const [isCreating, setIsCreating] = useState(false)
  const plans = useList<PlanJson>(`${toBucketPath(bucket)}/plans`)
  const createButton = canWrite.value && (
    <Button kind="primary" onClick={() => setIsCreating(true)}>
      Create plan
    </Button>
  )
  return (
    <Section title="Plans" actions={createButton}>
      <PagedTable
        list={plans}
        caption="All plans"
        getKey={({ id }) => id}
        empty={
          <EmptyState title="There is no plan yet">
            <p>
              A plan says how much of each meter a customer may use in a period. Create one, then subscribe customers.
            </p>
          </EmptyState>
        }
        columns={[
          { title: "Label", render: ({ id, label }) => <a href={linkToPlan(account, bucket, id)}>{label}</a> },
          { title: "Your id", render: ({ planExternalId }) => <code>{planExternalId}</code> },
          { title: "Meters", render: (plan) => toPlanInput(plan).meters.map(describeMeter).join("; ") },
          {
            title: "Rate limits",
            render: (plan) => toPlanInput(plan).rateLimits.map(describeRateLimit).join("; ") || "–"
          },
          {
            title: "Trial",
            render: ({ trialDays }) => (trialDays === undefined ? "–" : formatQuantity(trialDays, "day"))
          },
          {
            title: "Used",
            render: ({ hasSubscriptions }) =>
              hasSubscriptions ? <Badge tone="good">in use</Badge> : <Badge>unused</Badge>
          }
        ]}
      />
      {isCreating && <CreatePlanDialog bucket={bucket} onCreated={plans.reload} onClose={() => setIsCreating(false)} />}
    </Section>
  )
}
