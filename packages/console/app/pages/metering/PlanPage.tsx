import "../../styles/metering.css"
import { useState } from "preact/hooks"
import { type Reply, request } from "../../api/request.ts"
import type { PlanJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { CopyButton } from "../../components/CopyButton.tsx"
import { DefinitionList } from "../../components/DefinitionList.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Section } from "../../components/Section.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { useQuery } from "../../data/useQuery.ts"
import { formatCount, formatQuantity } from "../../format/numbers.ts"
import type { PageParams } from "../../routing/pages.ts"
import { canWrite } from "../../session/session.ts"
import { EditPlanDialog } from "./EditPlanDialog.tsx"
import { getParents, linkToBucket, toPlanPath } from "./meteringAddresses.ts"
import { RateLimitTable } from "./RateLimitTable.tsx"
import { RemovePlanDialog } from "./RemovePlanDialog.tsx"

const PlanDetails = ({
  plan,
  account,
  bucket
}: {
  readonly plan: PlanJson
  readonly account: string
  readonly bucket: string
}) => (
  <>
    <DefinitionList
      items={[
        ["External id", <code key="external-id">{plan.planExternalId}</code>],
        [
          "Id",
          <>
            <code>{plan.id}</code> <CopyButton text={plan.id} label="Copy the id of the plan" />
          </>
        ],
        [
          "Subscriptions",
          plan.hasSubscriptions ? (
            <a href={linkToBucket(account, bucket, { tab: "subscriptions" })}>Some use this plan</a>
          ) : (
            "None uses this plan"
          )
        ],
        ["Trial", plan.trialDays === undefined ? undefined : formatQuantity(plan.trialDays, "day")],
        ["After the trial", plan.trialEndStatus],
        [
          "Collect payment for the trial",
          plan.isTrialCollectPayment === undefined ? undefined : plan.isTrialCollectPayment ? "yes" : "no"
        ],
        ["Created", <Time key="created" value={plan.createdOn} />],
        ["Changed", <Time key="changed" value={plan.updatedOn} />]
      ]}
    />
    <Section title="Meters">
      <Table
        caption="Meters of the plan"
        rows={Object.entries(plan.meters)}
        getKey={([name]) => name}
        columns={[
          { title: "Name", render: ([name]) => <code>{name}</code> },
          { title: "Label", render: ([, { label }]) => label ?? "–" },
          { title: "Maximum in a period", align: "right", render: ([, { max }]) => formatCount(max) }
        ]}
      />
    </Section>
    <Section title="Rate limits">
      <RateLimitTable plan={plan} />
    </Section>
  </>
)

type OpenDialog = { readonly kind: "edit" | "remove"; readonly reply: Reply<PlanJson> }

export const PlanPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "", bucket = "", plan = "" } = params
  const [dialog, setDialog] = useState<OpenDialog>()
  const found = useQuery(`plan ${bucket} ${plan}`, (signal) =>
    request<PlanJson>("GET", toPlanPath(bucket, plan), { signal })
  )
  const close = () => setDialog(undefined)
  const open = (kind: OpenDialog["kind"]) => found.data !== undefined && setDialog({ kind, reply: found.data })
  return (
    <>
      <PageHeader title={found.data?.value.label ?? plan} parents={getParents(account, bucket, "plans", "Plans")}>
        {canWrite.value && found.data !== undefined && (
          <>
            <Button onClick={() => open("edit")}>Edit</Button>
            <Button onClick={() => open("remove")}>Remove</Button>
          </>
        )}
      </PageHeader>
      <QueryView query={found}>
        {({ value }) => <PlanDetails plan={value} account={account} bucket={bucket} />}
      </QueryView>
      {dialog?.kind === "edit" && (
        <EditPlanDialog
          bucket={bucket}
          plan={dialog.reply.value}
          version={dialog.reply.version}
          onSaved={found.reload}
          onClose={close}
        />
      )}
      {dialog?.kind === "remove" && (
        <RemovePlanDialog account={account} bucket={bucket} plan={dialog.reply.value} onClose={close} />
      )}
    </>
  )
}
