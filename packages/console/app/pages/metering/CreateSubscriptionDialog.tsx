import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Select, TextArea, TextField } from "@tollgate/ui/components/fields.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { makeRandomId } from "@tollgate/ui/data/makeRandomId.ts"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { SubscriptionJson } from "../../api/types.ts"
import { goTo } from "../../routing/router.ts"
import { linkToSubscription, toBucketPath } from "./meteringAddresses.ts"
import { PlanPicker } from "./PlanPicker.tsx"
import { checkSubscription, emptySubscription, type SubscriptionInput, toSubscriptionBody } from "./subscriptionForm.ts"
import { statusOptions } from "./subscriptionStatus.ts"

const renewalStrategies = ["monthly", "yearly"].map((value) => ({ value, label: value }))
const regions = ["us-central1", "us-east1", "europe-west4"].map((value) => ({ value, label: value }))
const trialEndStatuses = [
  { value: "", label: "as the plan says" },
  ...["active", "paused", "canceled"].map((value) => ({ value, label: value }))
]

interface FieldsProps {
  readonly input: SubscriptionInput
  readonly onChange: (change: Partial<SubscriptionInput>) => void
}

const TrialFields = ({ input, onChange }: FieldsProps) => (
  <div class="field-pair">
    <TextField
      label="Trial starts"
      type="datetime-local"
      value={input.trialStartDate}
      onInput={(trialStartDate) => onChange({ trialStartDate })}
    />
    <TextField
      label="Trial ends"
      hint="By default after the days of the plan."
      type="datetime-local"
      value={input.trialEndDate}
      onInput={(trialEndDate) => onChange({ trialEndDate })}
    />
    <Select
      label="After the trial"
      value={input.trialEndStatus}
      options={trialEndStatuses}
      onChange={(trialEndStatus) => onChange({ trialEndStatus })}
    />
  </div>
)

const FurtherFields = ({ input, onChange }: FieldsProps) => (
  <details>
    <summary>Your ids, dates, metadata</summary>
    <div class="form">
      <div class="field-pair">
        <TextField
          label="Your id of the subscription"
          hint="Generated if it is empty."
          value={input.subscriptionExternalId}
          onInput={(subscriptionExternalId) => onChange({ subscriptionExternalId })}
        />
        <TextField
          label="Your id of the customer"
          hint="The name of the customer if it is empty."
          value={input.customerExternalId}
          onInput={(customerExternalId) => onChange({ customerExternalId })}
        />
        <TextField
          label="Quotas reset counting from"
          hint="By default from now."
          type="datetime-local"
          value={input.quotaResetAnchor}
          onInput={(quotaResetAnchor) => onChange({ quotaResetAnchor })}
        />
        <TextField
          label="Next billing cycle"
          type="datetime-local"
          value={input.nextBillingCycle}
          onInput={(nextBillingCycle) => onChange({ nextBillingCycle })}
        />
        <Select label="Region" value={input.region} options={regions} onChange={(region) => onChange({ region })} />
        <TextField label="Product key" value={input.productKey} onInput={(productKey) => onChange({ productKey })} />
      </div>
      <TextArea label="Metadata" hint="JSON" value={input.metadata} onInput={(metadata) => onChange({ metadata })} />
    </div>
  </details>
)

export interface CreateSubscriptionDialogProps {
  readonly account: string
  readonly bucket: string
  /** Filled in at the start. */
  readonly customerKey: string
  readonly onClose: () => void
}

export const CreateSubscriptionDialog = ({ account, bucket, customerKey, onClose }: CreateSubscriptionDialogProps) => {
  const [input, setInput] = useState<SubscriptionInput>(() => ({
    ...emptySubscription,
    customerKey,
    generatedExternalId: `console-${makeRandomId()}`
  }))
  const change = (changed: Partial<SubscriptionInput>): void => setInput({ ...input, ...changed })
  const getKey = useIdempotencyKey()
  const create = useAction(async () => {
    checkSubscription(input)
    const body = toSubscriptionBody(input)
    const path = `${toBucketPath(bucket)}/subscriptions`
    const { value } = await request<SubscriptionJson>("POST", path, { body, idempotencyKey: getKey(body) })
    showToast(`The subscription of ${value.customerKey} was created.`)
    onClose()
    goTo(linkToSubscription(account, bucket, value.id))
  })
  return (
    <FormDialog title="Create subscription" submitLabel="Create" action={create} onClose={onClose}>
      <TextField
        label="Customer"
        hint="The name of the consumer that the subscription belongs to."
        value={input.customerKey}
        onInput={(customerKey) => change({ customerKey })}
        required
        autoFocus
        autoComplete="off"
      />
      <PlanPicker bucket={bucket} picked={input.plans} onChange={(plans) => change({ plans })} />
      <div class="field-pair">
        <Select
          label="Status"
          value={input.status}
          options={statusOptions}
          onChange={(status) => change({ status: status as SubscriptionJson["status"] })}
        />
        <Select
          label="Quotas renew"
          value={input.renewalStrategy}
          options={renewalStrategies}
          onChange={(renewalStrategy) => change({ renewalStrategy })}
        />
      </div>
      {input.status === "trialing" && <TrialFields input={input} onChange={change} />}
      <FurtherFields input={input} onChange={change} />
    </FormDialog>
  )
}
