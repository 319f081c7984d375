import { useState } from "preact/hooks"
import { get } from "../../api/request.ts"
import type { PageJson, PlanJson } from "../../api/types.ts"
import { Badge } from "../../components/Badge.tsx"
import { Button } from "../../components/Button.tsx"
import { EmptyState } from "../../components/EmptyState.tsx"
import { Pager } from "../../components/Pager.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Section } from "../../components/Section.tsx"
import { Table } from "../../components/Table.tsx"
import { useQuery } from "../../data/useQuery.ts"
import { formatQuantity } from "../../format/numbers.ts"
import { address, setQuery } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { CreatePlanDialog } from "./CreatePlanDialog.tsx"
import { linkToPlan, toBucketPath } from "./meteringAddresses.ts"
import { describeMeter, describeRateLimit, toPlanInput } from "./planForm.ts"

const limit = 50

const PlanTable = ({
  account,
  bucket,
  plans
}: {
  readonly account: string
  readonly bucket: string
  readonly plans: ReadonlyArray<PlanJson>
}) => (
  <Table
    caption="All plans"
    rows={plans}
    getKey={({ id }) => id}
    columns={[
      { title: "Label", render: ({ id, label }) => <a href={linkToPlan(account, bucket, id)}>{label}</a> },
      { title: "External id", render: ({ planExternalId }) => <code>{planExternalId}</code> },
      { title: "Meters", render: (plan) => toPlanInput(plan).meters.map(describeMeter).join("; ") },
      { title: "Rate limits", render: (plan) => toPlanInput(plan).rateLimits.map(describeRateLimit).join("; ") || "–" },
      {
        title: "Trial",
        render: ({ trialDays }) => (trialDays === undefined ? "–" : formatQuantity(trialDays, "day"))
      },
      {
        title: "Used",
        render: ({ hasSubscriptions }) => (hasSubscriptions ? <Badge tone="good">in use</Badge> : <Badge>unused</Badge>)
      }
    ]}
  />
)

export const PlanList = ({ account, bucket }: { readonly account: string; readonly bucket: string }) => {
  const offset = Number(address.value.query["offset"] ?? 0)
  const [isCreating, setIsCreating] = useState(false)
  const plans = useQuery(`plans ${bucket} ${offset}`, (signal) =>
    get<PageJson<PlanJson>>(`${toBucketPath(bucket)}/plans`, { limit, offset }, signal)
  )
  const createButton = canWrite.value && (
    <Button kind="primary" onClick={() => setIsCreating(true)}>
      Create plan
    </Button>
  )
  return (
    <Section title="Plans" actions={createButton}>
      <QueryView query={plans}>
        {({ data, total }) =>
          total === 0 ? (
            <EmptyState title="There is no plan yet">
              <p>
                A plan says how much of each meter a customer may use in a period. Create one, then subscribe customers.
              </p>
            </EmptyState>
          ) : (
            <>
              <PlanTable account={account} bucket={bucket} plans={data} />
              <Pager
                offset={offset}
                limit={limit}
                total={total}
                shown={data.length}
                onChange={(offset) => setQuery({ offset: offset || undefined })}
              />
            </>
          )
        }
      </QueryView>
      {isCreating && <CreatePlanDialog bucket={bucket} onCreated={plans.reload} onClose={() => setIsCreating(false)} />}
    </Section>
  )
}
