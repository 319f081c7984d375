import type { SubscriptionJson } from "../../api/types.ts"
import { Badge } from "../../components/Badge.tsx"
import { CopyButton } from "../../components/CopyButton.tsx"
import { DefinitionList } from "../../components/DefinitionList.tsx"
import { Time } from "../../components/Time.tsx"
import { formatMetadata } from "../../format/metadata.ts"
import { linkToPlan } from "./meteringAddresses.ts"
import { getStatusTone } from "./subscriptionStatus.ts"

const toTime = (value: string | undefined) => (value === undefined ? undefined : <Time value={value} />)

export const SubscriptionDetails = ({
  account,
  bucket,
  subscription
}: {
  readonly account: string
  readonly bucket: string
  readonly subscription: SubscriptionJson
}) => (
  <DefinitionList
    items={[
      [
        "Status",
        <Badge key="status" tone={getStatusTone(subscription.status)}>
          {subscription.status}
        </Badge>
      ],
      [
        "Plans",
        <span key="plans" class="badges">
          {subscription.planIds.map((id, index) => (
            <a key={id} href={linkToPlan(account, bucket, id)}>
              {subscription.planExternalIds[index] ?? id}
            </a>
          ))}
        </span>
      ],
      ["Renews", subscription.renewalStrategy],
      ["Next billing cycle", toTime(subscription.nextBillingCycle)],
      ["Quotas reset counting from", toTime(subscription.quotaResetAnchor)],
      ["Trial began", toTime(subscription.trialStartDate)],
      ["Trial ends", toTime(subscription.trialEndDate)],
      ["After the trial", subscription.trialEndStatus],
      ["External id", <code key="external-id">{subscription.subscriptionExternalId}</code>],
      ["External id of the customer", <code key="customer-id">{subscription.customerExternalId}</code>],
      [
        "Id",
        <>
          <code>{subscription.id}</code> <CopyButton text={subscription.id} label="Copy the id of the subscription" />
        </>
      ],
      ["Region", subscription.region],
      ["Product key", subscription.productKey],
      [
        "Metadata",
        subscription.metadata === undefined ? undefined : (
          <pre key="metadata">{formatMetadata(subscription.metadata)}</pre>
        )
      ],
      ["Created", toTime(subscription.createdOn)],
      ["Changed", toTime(subscription.updatedOn)]
    ]}
  />
)
