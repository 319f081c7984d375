import { Badge } from "../../components/Badge.tsx"
import { EmptyState } from "../../components/EmptyState.tsx"
import { Plot } from "../../components/Plot.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { QuotaBar } from "../../components/QuotaBar.tsx"
import { Section } from "../../components/Section.tsx"
import { Time } from "../../components/Time.tsx"
import { useQuery } from "../../data/useQuery.ts"
import { formatQuantity } from "../../format/numbers.ts"
import { linkTo } from "../../routing/router.ts"
import { addUsage, type BucketUsage, loadUsage, maxSubscriptions, type SubscriptionUsage } from "./subscriptionUsage.ts"

const consumingStatuses = ["active", "trialing", "past-due"]

const Subscription = ({
  link,
  item: { subscription, quotas }
}: {
  readonly link: string
  readonly item: SubscriptionUsage
}) => (
  <li class="card">
    <p>
      <a href={link}>{subscription.planExternalIds.join(", ")}</a>{" "}
      <Badge tone={consumingStatuses.includes(subscription.status) ? "good" : "warning"}>{subscription.status}</Badge>
    </p>
    {Object.entries(quotas.meters).map(([meter, { used, max }]) => (
      <QuotaBar key={meter} label={meter} used={used} max={max} />
    ))}
    <p class="hint">
      Resets <Time value={quotas.resetsOn} />
    </p>
  </li>
)

const Bucket = ({
  account,
  usage: { bucket, total, subscriptions }
}: {
  readonly account: string
  readonly usage: BucketUsage
}) => {
  const name = bucket.name ?? bucket.id
  return (
    <>
      <h3>
        <a href={linkTo(["accounts", account, "metering", bucket.id])}>{name}</a>
      </h3>
      <ul class="plain-list cards">
        {subscriptions.map((item) => (
          <Subscription
            key={item.subscription.id}
            link={linkTo(["accounts", account, "metering", bucket.id, "subscriptions", item.subscription.id])}
            item={item}
          />
        ))}
      </ul>
      {total > maxSubscriptions && (
        <p class="hint">
          The first {maxSubscriptions} of {formatQuantity(total, "subscription")}.
        </p>
      )}
      <Plot title={`Usage of the last 30 days in ${name}`} {...addUsage(subscriptions.map(({ usage }) => usage))} />
    </>
  )
}

/** The subscriptions whose customer key is the name of the consumer, with their quotas and usage. */
export const ConsumerSubscriptions = ({
  account,
  customerKey
}: {
  readonly account: string
  readonly customerKey: string
}) => {
  const usage = useQuery(`usage ${account} ${customerKey}`, (signal) => loadUsage(account, customerKey, signal))
  return (
    <Section title="Subscriptions and usage">
      <QueryView query={usage}>
        {(buckets) =>
          buckets.length === 0 ? (
            <EmptyState title="No subscriptions">
              <p>
                Subscribe this consumer to a plan in <a href={linkTo(["accounts", account, "metering"])}>Metering</a>,
                with the customer key “{customerKey}”, to count and limit its usage.
              </p>
            </EmptyState>
          ) : (
            buckets.map((usage) => <Bucket key={usage.bucket.id} account={account} usage={usage} />)
          )
        }
      </QueryView>
    </Section>
  )
}
