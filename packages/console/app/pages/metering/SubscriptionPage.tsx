import "../../styles/metering.css"
import { useState } from "preact/hooks"
import { type Reply, request } from "../../api/request.ts"
import type { SubscriptionJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { RecentEvents } from "../../components/RecentEvents.tsx"
import { Section } from "../../components/Section.tsx"
import { showToast } from "../../components/toasts.tsx"
import { useQuery } from "../../data/useQuery.ts"
import type { PageParams } from "../../routing/pages.ts"
import { goTo, linkTo } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { EditSubscriptionDialog } from "./EditSubscriptionDialog.tsx"
import { getParents, linkToBucket, toSubscriptionPath } from "./meteringAddresses.ts"
import { QuotaSection } from "./QuotaSection.tsx"
import { SubscriptionDetails } from "./SubscriptionDetails.tsx"
import { SubscriptionRateLimits } from "./SubscriptionRateLimits.tsx"
import { UsagePanel } from "./UsagePanel.tsx"
import { toMeterLabels, usePlans } from "./usePlans.ts"

interface ContentProps {
  readonly account: string
  readonly bucket: string
  readonly subscription: SubscriptionJson
  /** Counts the changes that were made on this page. */
  readonly revision: number
  readonly onChange: () => void
}

const SubscriptionContent = ({ account, bucket, subscription, revision, onChange }: ContentProps) => {
  const plans = usePlans(bucket, subscription.planIds, revision)
  return (
    <>
      <SubscriptionDetails account={account} bucket={bucket} subscription={subscription} />
      <QuotaSection
        bucket={bucket}
        subscription={subscription.id}
        labels={toMeterLabels(plans.data ?? [])}
        revision={revision}
        onChange={onChange}
      />
      <QueryView query={plans}>{(plans) => <SubscriptionRateLimits plans={plans} />}</QueryView>
      <Section title="Usage">
        <UsagePanel
          path={`${toSubscriptionPath(bucket, subscription.id)}/usage`}
          steps={["hour", "day", "period"]}
          fileName={`usage-${subscription.id}`}
          revision={revision}
        />
      </Section>
      <Section
        title="Events"
        actions={<a href={linkTo(["accounts", account, "events"], { subject: subscription.id })}>All events</a>}
      >
        <RecentEvents account={account} subject={subscription.id} revision={revision} />
      </Section>
    </>
  )
}

type OpenDialog = { readonly kind: "edit" | "remove"; readonly reply: Reply<SubscriptionJson> }

export const SubscriptionPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "", bucket = "", subscription = "" } = params
  const path = toSubscriptionPath(bucket, subscription)
  const [dialog, setDialog] = useState<OpenDialog>()
  const [revision, setRevision] = useState(0)
  const found = useQuery(`subscription ${path}`, (signal) => request<SubscriptionJson>("GET", path, { signal }))
  const close = () => setDialog(undefined)
  const open = (kind: OpenDialog["kind"]) => found.data !== undefined && setDialog({ kind, reply: found.data })
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
        {canWrite.value && found.data !== undefined && (
          <>
            <Button onClick={() => open("edit")}>Edit</Button>
            <Button onClick={() => open("remove")}>Remove</Button>
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
          />
        )}
      </QueryView>
      {dialog?.kind === "edit" && (
        <EditSubscriptionDialog
          bucket={bucket}
          subscription={dialog.reply.value}
          version={dialog.reply.version}
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
