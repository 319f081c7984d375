import { useState } from "preact/hooks"
import { get } from "../../api/request.ts"
import type { PageJson, SubscriptionJson } from "../../api/types.ts"
import { Badge } from "../../components/Badge.tsx"
import { Button } from "../../components/Button.tsx"
import { EmptyState } from "../../components/EmptyState.tsx"
import { Pager } from "../../components/Pager.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Section } from "../../components/Section.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { useQuery } from "../../data/useQuery.ts"
import { address, setQuery } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { CreateSubscriptionDialog } from "./CreateSubscriptionDialog.tsx"
import { linkToSubscription, toBucketPath } from "./meteringAddresses.ts"
import { SubscriptionFilters } from "./SubscriptionFilters.tsx"
import { getStatusTone } from "./subscriptionStatus.ts"

const limit = 50

const SubscriptionTable = ({
  account,
  bucket,
  subscriptions
}: {
  readonly account: string
  readonly bucket: string
  readonly subscriptions: ReadonlyArray<SubscriptionJson>
}) => (
  <Table
    caption="Subscriptions, oldest first"
    rows={subscriptions}
    getKey={({ id }) => id}
    columns={[
      {
        title: "Customer",
        render: ({ id, customerKey }) => <a href={linkToSubscription(account, bucket, id)}>{customerKey}</a>
      },
      { title: "Status", render: ({ status }) => <Badge tone={getStatusTone(status)}>{status}</Badge> },
      { title: "Plans", render: ({ planExternalIds }) => planExternalIds.join(", ") },
      { title: "Renews", render: ({ renewalStrategy }) => renewalStrategy },
      { title: "External id", render: ({ subscriptionExternalId }) => <code>{subscriptionExternalId}</code> },
      { title: "Created", render: ({ createdOn }) => <Time value={createdOn} /> }
    ]}
  />
)

export const SubscriptionList = ({ account, bucket }: { readonly account: string; readonly bucket: string }) => {
  const { customerKey, customerExternalId, subscriptionExternalId, status, offset: offsetText } = address.value.query
  const filter = { customerKey, customerExternalId, subscriptionExternalId, status }
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  const offset = Number(offsetText ?? 0)
  const [isCreating, setIsCreating] = useState(false)
  const subscriptions = useQuery(`subscriptions ${bucket} ${offset} ${JSON.stringify(filter)}`, (signal) =>
    get<PageJson<SubscriptionJson>>(`${toBucketPath(bucket)}/subscriptions`, { ...filter, limit, offset }, signal)
  )
  const createButton = canWrite.value && (
    <Button kind="primary" onClick={() => setIsCreating(true)}>
      Create subscription
    </Button>
  )
  return (
    <Section title="Subscriptions" actions={createButton}>
      <SubscriptionFilters key={JSON.stringify(filter)} />
      <QueryView query={subscriptions}>
        {({ data, total }) =>
          total === 0 ? (
            <EmptyState title={isFiltered ? "No subscription matches" : "There is no subscription yet"}>
              <p>
                {isFiltered
                  ? "The filters compare whole texts. Check the spelling, or clear them."
                  : "A subscription gives a customer one or more plans. Create one, and the customer can use what the plans allow."}
              </p>
            </EmptyState>
          ) : (
            <>
              <SubscriptionTable account={account} bucket={bucket} subscriptions={data} />
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
