import { type Reply, request } from "@tollgate/ui/api/request.ts"
import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { Plot } from "@tollgate/ui/components/Plot.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { formatCount, formatQuantity } from "@tollgate/ui/format/numbers.ts"
import { Fragment } from "preact"
import { useState } from "preact/hooks"
import type { QuotasJson, SubscriptionJson } from "../../api/types.ts"
import { MeterQuota } from "../../components/MeterQuota.tsx"
import type { QuotaJson } from "../../components/quotas.ts"
import { linkTo } from "../../routing/router.ts"
import { may, maySell } from "../../session/session.ts"
import { CreditList } from "../metering/CreditList.tsx"
import { GiveCreditDialog } from "../metering/GiveCreditDialog.tsx"
import { GroupUsage } from "../metering/GroupUsage.tsx"
import { linkToBucket, toCustomerPath, toSubscriptionPath } from "../metering/meteringAddresses.ts"
import { OverridesDialog } from "../metering/OverridesDialog.tsx"
import { CancelPlanDialog, ChangePlanDialog } from "./ChangePlanDialog.tsx"
import { ExtendTrialDialog } from "./ExtendTrialDialog.tsx"
import { addUsage, type BucketUsage, loadUsage, maxSubscriptions, type SubscriptionUsage } from "./subscriptionUsage.ts"

const consumingStatuses = ["active", "trialing", "past-due"]

interface Changing {
  readonly bucket: string
  readonly onChange: () => void
}

const PendingChange = ({
  customerKey,
  pendingChange: { status, planExternalIds = [], effectiveOn },
  bucket,
  onChange
}: Changing & {
  readonly customerKey: string
  readonly pendingChange: NonNullable<SubscriptionJson["pendingChange"]>
}) => {
  const withdraw = useAction(async () => {
    await request("DELETE", `${toCustomerPath(bucket, customerKey)}/pending-change`)
    showToast("The change was withdrawn.")
    onChange()
  })
  return (
    <Notice kind="warning">
      {status === undefined ? `Changes to ${planExternalIds.join(", ")}` : "Ends"} <Time value={effectiveOn} />{" "}
      {maySell() && (
        <Button isSmall onClick={() => void withdraw.run()} isBusy={withdraw.isRunning}>
          Withdraw
        </Button>
      )}
      {withdraw.problem !== undefined && <ProblemNotice problem={withdraw.problem} />}
    </Notice>
  )
}

/** What the plans allow of a meter, and when it begins anew. */
const MeterFacts = ({ quota, resetsOn }: { readonly quota: QuotaJson; readonly resetsOn: string }) => {
  const resets = quota.periodStart === undefined ? resetsOn : quota.resetsOn
  return (
    <p class="hint">
      Allowance {formatCount(quota.max)},{" "}
      {resets === undefined ? (
        "never resets"
      ) : (
        <>
          resets <Time value={resets} />
        </>
      )}
    </p>
  )
}

type OpenDialog = { readonly kind: "trial" | "overrides"; readonly reply: Reply<SubscriptionJson> }

const Subscription = ({
  link,
  item: { subscription, quotas },
  bucket,
  onChange
}: Changing & {
  readonly link: string
  readonly item: SubscriptionUsage
}) => {
  const [dialog, setDialog] = useState<OpenDialog>()
  // The dialogs change the subscription as it is now.
  const open = useAction(async (kind: OpenDialog["kind"]) => {
    const reply = await request<SubscriptionJson>("GET", toSubscriptionPath(bucket, subscription.id))
    setDialog({ kind, reply })
  })
  const shared = { bucket, onSaved: onChange, onClose: () => setDialog(undefined) }
  return (
    <li class="card">
      <p>
        <a href={link}>{subscription.planExternalIds.join(", ")}</a>{" "}
        <Badge tone={consumingStatuses.includes(subscription.status) ? "good" : "warning"}>{subscription.status}</Badge>
      </p>
      {Object.entries(quotas.meters).map(([meter, quota]) => (
        <Fragment key={meter}>
          <a class="plain-link" href={link}>
            <MeterQuota label={meter} quota={quota} />
          </a>
          <MeterFacts quota={quota} resetsOn={quotas.resetsOn} />
        </Fragment>
      ))}
      {subscription.trialEndDate !== undefined && subscription.status === "trialing" && (
        <p class="hint">
          The trial ends <Time value={subscription.trialEndDate} />
        </p>
      )}
      {subscription.pendingChange !== undefined && (
        <PendingChange
          customerKey={subscription.customerKey}
          pendingChange={subscription.pendingChange}
          bucket={bucket}
          onChange={onChange}
        />
      )}
      {maySell() && (
        <div class="form-actions">
          {subscription.status === "trialing" && (
            <Button isSmall onClick={() => void open.run("trial")}>
              Extend the trial
            </Button>
          )}
          <Button isSmall onClick={() => void open.run("overrides")}>
            Override limits
          </Button>
        </div>
      )}
      {open.problem !== undefined && <ProblemNotice problem={open.problem} />}
      {dialog?.kind === "trial" && <ExtendTrialDialog {...shared} subscription={dialog.reply.value} />}
      {dialog?.kind === "overrides" && (
        <OverridesDialog {...shared} subscription={dialog.reply.value} version={dialog.reply.version} />
      )}
    </li>
  )
}

/** The quotas of all subscriptions of a customer. */
const mergeQuotas = ([first, ...others]: ReadonlyArray<SubscriptionUsage>): QuotasJson | undefined =>
  first && {
    ...first.quotas,
    meters: Object.assign({}, ...[first, ...others].map(({ quotas }) => quotas.meters)) as QuotasJson["meters"]
  }

const Bucket = ({
  account,
  customerKey,
  usage: { bucket, total, subscriptions },
  onChange
}: {
  readonly account: string
  readonly customerKey: string
  readonly usage: BucketUsage
  readonly onChange: () => void
}) => {
  const [dialog, setDialog] = useState<"plan" | "cancel" | "credit">()
  const [revision, setRevision] = useState(0)
  const quotas = mergeQuotas(subscriptions)
  const name = bucket.name ?? bucket.id
  const isServed = subscriptions.some(({ subscription: { status } }) => consumingStatuses.includes(status))
  const shared = { bucket: bucket.id, customerKey, onSaved: onChange, onClose: () => setDialog(undefined) }
  return (
    <>
      <h3>
        <a href={linkTo(["accounts", account, "metering", bucket.id])}>{name}</a>
      </h3>
      {maySell() && (
        <div class="form-actions">
          <Button isSmall label={`Change plan in ${name}`} onClick={() => setDialog("plan")}>
            Change plan
          </Button>
          {may("grants:write") && quotas !== undefined && (
            <Button isSmall label={`Give credit in ${name}`} onClick={() => setDialog("credit")}>
              Give credit
            </Button>
          )}
          {isServed && (
            <Button isSmall label={`Cancel subscription in ${name}`} onClick={() => setDialog("cancel")}>
              Cancel subscription
            </Button>
          )}
        </div>
      )}
      <ul class="plain-list cards">
        {subscriptions.map((item) => (
          <Subscription
            key={item.subscription.id}
            link={linkTo(["accounts", account, "metering", bucket.id, "subscriptions", item.subscription.id])}
            item={item}
            bucket={bucket.id}
            onChange={onChange}
          />
        ))}
      </ul>
      {total > maxSubscriptions && (
        <p class="hint">
          The first {maxSubscriptions} of{" "}
          <a href={linkToBucket(account, bucket.id, { tab: "subscriptions", customerKey })}>
            {formatQuantity(total, "subscription")}
          </a>
          .
        </p>
      )}
      <Plot title={`Usage of the last 30 days in ${name}`} {...addUsage(subscriptions.map(({ usage }) => usage))} />
      <h4>Usage by key and label in {name}</h4>
      <GroupUsage
        account={account}
        paths={subscriptions.map(({ subscription: { id } }) => `${toSubscriptionPath(bucket.id, id)}/usage`)}
        suffix={` in ${name}`}
      />
      <h4>Credit in {name}</h4>
      <CreditList
        account={account}
        bucket={bucket.id}
        customerKey={customerKey}
        revision={revision}
        onChange={onChange}
      />
      {dialog === "credit" && quotas !== undefined && (
        <GiveCreditDialog
          {...shared}
          quotas={quotas}
          onSaved={() => {
            setRevision(revision + 1)
            onChange()
          }}
        />
      )}
      {dialog === "plan" && <ChangePlanDialog {...shared} />}
      {dialog === "cancel" && <CancelPlanDialog {...shared} />}
    </>
  )
}

/** The subscriptions whose customer key is the name of the consumer, with their quotas and usage. */
export const ConsumerSubscriptions = ({
  account,
  customerKey,
  onChange
}: {
  readonly account: string
  readonly customerKey: string
  /** Called when something of the customer was changed here. */
  readonly onChange: () => void
}) => {
  const usage = useQuery(`usage ${account} ${customerKey}`, (signal) => loadUsage(account, customerKey, signal))
  return (
    <Section title="Subscriptions and usage">
      <QueryView query={usage}>
        {(buckets) =>
          buckets.length === 0 ? (
            <EmptyState title="No subscriptions">
              <p>
                Subscribe this consumer to a plan in{" "}
                <a href={linkTo(["accounts", account, "metering"])}>Plans and usage</a>, as the customer “{customerKey}
                ”, to count and limit its usage.
              </p>
            </EmptyState>
          ) : (
            buckets.map((bucket) => (
              <Bucket
                key={bucket.bucket.id}
                account={account}
                customerKey={customerKey}
                usage={bucket}
                onChange={() => {
                  usage.reload()
                  onChange()
                }}
              />
            ))
          )
        }
      </QueryView>
    </Section>
  )
}
