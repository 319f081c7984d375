import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useState } from "preact/hooks"
import type { ListedSubscriptionJson } from "../../api/types.ts"
import { HighestUse } from "../../components/HighestUse.tsx"
import { PagedTable } from "../../components/PagedTable.tsx"
import { useList } from "../../data/useList.ts"
import { address } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { CreateSubscriptionDialog } from "./CreateSubscriptionDialog.tsx"
import { linkToSubscription, toBucketPath } from "./meteringAddresses.ts"
import { SubscriptionFilters } from "./SubscriptionFilters.tsx"
import { getStatusTone } from "./subscriptionStatus.ts"

export const SubscriptionList = ({ account, bucket }: { readonly account: string; readonly bucket: string }) => {
  const { customerKey, customerExternalId, subscriptionExternalId, status } = address.value.query
  const filter = { customerKey, customerExternalId, subscriptionExternalId, status }
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  const [isCreating, setIsCreating] = useState(false)
  const subscriptions = useList<ListedSubscriptionJson>(`${toBucketPath(bucket)}/subscriptions`, {
    ...filter,
    include: "usage"
  })
  const createButton = canWrite.value && (
    <Button kind="primary" onClick={() => setIsCreating(true)}>
      Create subscription
    </Button>
  )
  return (
    <Section title="Subscriptions" actions={createButton}>
      <SubscriptionFilters key={JSON.stringify(filter)} />
      <PagedTable
        list={subscriptions}
        caption="Subscriptions, oldest first"
        getKey={({ id }) => id}
        empty={
          <EmptyState title={isFiltered ? "No subscription matches" : "There is no subscription yet"}>
            <p>
              {isFiltered
                ? "The filters compare whole texts. Check the spelling, or clear them."
                : "A subscription gives a customer one or more plans. Create one, and the customer can use what the plans allow."}
            </p>
          </EmptyState>
        }
        columns={[
          {
            title: "Customer",
            render: ({ id, customerKey }) => <a href={linkToSubscription(account, bucket, id)}>{customerKey}</a>
          },
          { title: "Status", render: ({ status }) => <Badge tone={getStatusTone(status)}>{status}</Badge> },
          { title: "Plans", render: ({ planExternalIds }) => planExternalIds.join(", ") },
          { title: "Used", render: ({ usage }) => <HighestUse usage={usage} /> },
          { title: "Renews", render: ({ renewalStrategy }) => renewalStrategy },
          { title: "Your id", render: ({ subscriptionExternalId }) => <code>{subscriptionExternalId}</code> },
          { title: "Created", render: ({ createdOn }) => <Time value={createdOn} /> }
        ]}
      />
      {isCreating && (
        <CreateSubscriptionDialog
          account={account}
          bucket={bucket}
          customerKey={customerKey ?? ""}
          onClose={() => setIsCreating(false)}
        />
      )}
    </Section>
  )
}
