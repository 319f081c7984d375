import "../../styles/metering.css"
import { type Reply, request } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { CopyButton } from "@tollgate/ui/components/CopyButton.tsx"
import { DefinitionList } from "@tollgate/ui/components/DefinitionList.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { Table } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { formatCount, formatQuantity } from "@tollgate/ui/format/numbers.ts"
import { useState } from "preact/hooks"
import type { PlanJson } from "../../api/types.ts"
import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"
import { canWrite } from "../../session/session.ts"
import { EditPlanDialog } from "./EditPlanDialog.tsx"
import { getParents, linkToBucket, toPlanPath } from "./meteringAddresses.ts"
import { describePeriod } from "./planForm.ts"
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
        ["Your id", <code key="external-id">{plan.planExternalId}</code>],
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
          { title: "Maximum in a period", align: "right", render: ([, { max }]) => formatCount(max) },
          { title: "Period", render: ([, { period = "" }]) => describePeriod(period) },
          {
            title: "Above the maximum",
            render: ([, { isSoftLimit, overageMax }]) =>
              isSoftLimit === true
                ? overageMax === undefined
                  ? "counted"
                  : `counted up to ${formatCount(overageMax)}`
                : "refused"
          }
        ]}
      />
    </Section>
    {plan.features !== undefined && (
      <Section title="Features">
        <Table
          caption="Features of the plan"
          rows={Object.entries(plan.features)}
          getKey={([name]) => name}
          columns={[
            { title: "Name", render: ([name]) => <code>{name}</code> },
            { title: "Value", render: ([, value]) => (value === true ? "on" : String(value)) }
          ]}
        />
      </Section>
    )}
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
            <Button kind="destructive" onClick={() => open("remove")}>
              Remove
            </Button>
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
