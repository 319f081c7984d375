import "../../styles/metering.css"
import { type Reply, request } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useState } from "preact/hooks"
import type { SubscriptionJson } from "../../api/types.ts"
import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"
import { goTo, linkTo } from "../../routing/router.ts"
import { may, maySell } from "../../session/session.ts"
import { ExtendTrialDialog } from "../consumers/ExtendTrialDialog.tsx"
import { RecentEvents } from "../events/RecentEvents.tsx"
import { EditSubscriptionDialog, type RaisedMeter } from "./EditSubscriptionDialog.tsx"
import { GroupUsage } from "./GroupUsage.tsx"
import { getParents, linkToBucket, toSubscriptionPath } from "./meteringAddresses.ts"
import { OverridesDialog } from "./OverridesDialog.tsx"
import { QuotaSection } from "./QuotaSection.tsx"
import { SubscriptionDetails } from "./SubscriptionDetails.tsx"
import { SubscriptionRateLimits } from "./SubscriptionRateLimits.tsx"
import { UsagePanel } from "./UsagePanel.tsx"
import { toMeterLabels, toPeriodMeters, usePlans } from "./usePlans.ts"

interface ContentProps {
  readonly account: string
  readonly bucket: string
  readonly subscription: SubscriptionJson
  /** Counts the changes that were made on this page. */
  readonly revision: number
  readonly onChange: () => void
  readonly onRaise: (meter: RaisedMeter) => void
}

const SubscriptionContent = ({ account, bucket, subscription, revision, onChange, onRaise }: ContentProps) => {
  const plans = usePlans(bucket, subscription.planIds, revision)
  return (
    <>
      <SubscriptionDetails account={account} bucket={bucket} subscription={subscription} />
      <QuotaSection
        account={account}
        bucket={bucket}
        customerKey={subscription.customerKey}
        subscription={subscription.id}
        labels={toMeterLabels(plans.data ?? [])}
        revision={revision}
        onChange={onChange}
        onRaise={onRaise}
      />
      <QueryView query={plans}>{(plans) => <SubscriptionRateLimits plans={plans} />}</QueryView>
      <Section title="Usage">
        <QueryView query={plans}>
          {(plans) => (
            <UsagePanel
              path={`${toSubscriptionPath(bucket, subscription.id)}/usage`}
              steps={["hour", "day", "period"]}
              fileName={`usage-${subscription.id}`}
              periodMeters={toPeriodMeters(plans)}
              revision={revision}
            />
          )}
        </QueryView>
      </Section>
      <Section title="Usage by key and label">
        <GroupUsage
          account={account}
          paths={[`${toSubscriptionPath(bucket, subscription.id)}/usage`]}
          revision={revision}
        />
      </Section>
      <Section
        title="Events"
        actions={<a href={linkTo(["accounts", account, "events"], { subject: subscription.id })}>All events</a>}
      >
        <RecentEvents account={account} filters={[{ subject: subscription.id }]} revision={revision} />
      </Section>
    </>
  )
}

const editDialogs = { edit: EditSubscriptionDialog, overrides: OverridesDialog, trial: ExtendTrialDialog }

interface OpenDialog {
  readonly kind: keyof typeof editDialogs | "remove"
  readonly reply: Reply<SubscriptionJson>
  /** The meter whose maximum is to be raised. */
  readonly raised?: RaisedMeter | undefined
}

export const SubscriptionPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "", bucket = "", subscription = "" } = params
  const path = toSubscriptionPath(bucket, subscription)
  const [dialog, setDialog] = useState<OpenDialog>()
  const [revision, setRevision] = useState(0)
  const found = useQuery(`subscription ${path}`, (signal) => request<SubscriptionJson>("GET", path, { signal }))
  const close = () => setDialog(undefined)
  const EditDialog = dialog === undefined || dialog.kind === "remove" ? undefined : editDialogs[dialog.kind]
  const open = (kind: OpenDialog["kind"], raised?: RaisedMeter) =>
    found.data !== undefined && setDialog({ kind, reply: found.data, raised })
  const onChange = (): void => {
    setRevision((revision) => revision + 1)
    found.reload()
  }
  return (
    <>
      <PageHeader
        title={found.data === undefined ? subscription : `Subscription of ${found.data.value.customerKey}`}
        parents={getParents(account, bucket, "subscriptions", "Subscriptions")}
      >
        {maySell() && found.data !== undefined && (
          <>
            {found.data.value.status === "trialing" && <Button onClick={() => open("trial")}>Extend the trial</Button>}
            <Button onClick={() => open("edit")}>Edit</Button>
            <Button onClick={() => open("overrides")}>Overrides</Button>
            {may("metering:write") && (
              <Button kind="destructive" onClick={() => open("remove")}>
                Remove
              </Button>
            )}
          </>
        )}
      </PageHeader>
      <QueryView query={found}>
        {({ value }) => (
          <SubscriptionContent
            account={account}
            bucket={bucket}
            subscription={value}
            revision={revision}
            onChange={onChange}
            onRaise={(meter) => open("overrides", meter)}
          />
        )}
      </QueryView>
      {EditDialog !== undefined && dialog !== undefined && (
        <EditDialog
          bucket={bucket}
          subscription={dialog.reply.value}
          version={dialog.reply.version}
          raised={dialog.raised}
          onSaved={onChange}
          onClose={close}
        />
      )}
      {dialog?.kind === "remove" && (
        <ConfirmDialog
          title={`Remove the subscription of ${dialog.reply.value.customerKey}?`}
          confirmLabel="Remove subscription"
          onConfirm={async () => {
            await request("DELETE", path)
            showToast(`The subscription of ${dialog.reply.value.customerKey} was removed.`)
            goTo(linkToBucket(account, bucket, { tab: "subscriptions" }))
          }}
          onClose={close}
        >
          <p>
            The customer can no longer use what its plans allow, and its usage and reservations are removed. To stop it
            and keep them, set its status to canceled instead.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
