import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { CopyButton } from "@tollgate/ui/components/CopyButton.tsx"
import { DefinitionList } from "@tollgate/ui/components/DefinitionList.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import type { SubscriptionJson } from "../../api/types.ts"
import { formatMetadata } from "../../format/metadata.ts"
import { ConsumersOfCustomer } from "./ConsumersOfCustomer.tsx"
import { linkToPlan } from "./meteringAddresses.ts"
import { describeOverrides, toOverridesInput } from "./overridesForm.ts"
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
      ["Consumers", <ConsumersOfCustomer key="consumers" account={account} customerKey={subscription.customerKey} />],
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
      [
        "At the end of the period",
        subscription.pendingChange === undefined ? undefined : (
          <>
            {subscription.pendingChange.status ?? subscription.pendingChange.planExternalIds?.join(", ")}{" "}
            <Time value={subscription.pendingChange.effectiveOn} />
          </>
        )
      ],
      ["Renews", subscription.renewalStrategy],
      ["Next billing cycle", toTime(subscription.nextBillingCycle)],
      ["Periods count from", toTime(subscription.quotaResetAnchor)],
      ["Trial began", toTime(subscription.trialStartDate)],
      ["Trial ends", toTime(subscription.trialEndDate)],
      ["After the trial", subscription.trialEndStatus],
      ["Your id", <code key="external-id">{subscription.subscriptionExternalId}</code>],
      ["Your id of the customer", <code key="customer-id">{subscription.customerExternalId}</code>],
      [
        "Id",
        <>
          <code>{subscription.id}</code> <CopyButton text={subscription.id} label="Copy the id of the subscription" />
        </>
      ],
      ...describeOverrides(toOverridesInput(subscription)).map(([label, text]): [string, string | undefined] => [
        `Overridden ${label.toLowerCase()}`,
        text || undefined
      ]),
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
