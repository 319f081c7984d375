import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Select, TextField } from "@tollgate/ui/components/fields.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { SubscriptionJson } from "../../api/types.ts"
import { toCustomerPath } from "../metering/meteringAddresses.ts"
import { type PickedPlan, PlanPicker } from "../metering/PlanPicker.tsx"
import { checkSubscription } from "../metering/subscriptionForm.ts"

export interface CustomerDialogProps {
  readonly bucket: string
  readonly customerKey: string
  readonly onSaved: () => void
  readonly onClose: () => void
}

const times = [
  { value: "period-end", label: "when the period ends" },
  { value: "now", label: "now" }
]

/** Gives a customer other plans: the newest subscription that allows usage, or a new one. */
export const ChangePlanDialog = ({ bucket, customerKey, onSaved, onClose }: CustomerDialogProps) => {
  const [plans, setPlans] = useState<ReadonlyArray<PickedPlan>>([])
  const [at, setAt] = useState("period-end")
  const [prorate, setProrate] = useState("")
  const getKey = useIdempotencyKey()
  const change = useAction(async () => {
    checkSubscription({ plans })
    const body = {
      planExternalIds: plans.map(({ planExternalId }) => planExternalId),
      at,
      ...(at === "now" && prorate !== "" ? { prorate: Number(prorate) } : {})
    }
    const path = `${toCustomerPath(bucket, customerKey)}/plan`
    const { value } = await request<SubscriptionJson>("POST", path, { body, idempotencyKey: getKey(body) })
    showToast(
      value.pendingChange === undefined
        ? `${customerKey} has ${value.planExternalIds.join(", ")}.`
        : `${customerKey} changes to ${value.pendingChange.planExternalIds?.join(", ")} when the period ends.`
    )
    onSaved()
    onClose()
  })
  return (
    <FormDialog title={`Change the plan of ${customerKey}`} submitLabel="Change plan" action={change} onClose={onClose}>
      <PlanPicker bucket={bucket} picked={plans} onChange={setPlans} />
      <Select label="When" value={at} options={times} onChange={setAt} />
      {at === "now" && (
        <TextField
          label="Share of the new plans’ limits in this period"
          hint="From 0 to 1, such as 0.5 for half of them. Empty: all of them. What was used stays used."
          value={prorate}
          onInput={setProrate}
          pattern="0(\.\d+)?|1(\.0+)?"
        />
      )}
    </FormDialog>
  )
}

/** Cancels the newest subscription of a customer that allows usage. */
export const CancelPlanDialog = ({ bucket, customerKey, onSaved, onClose }: CustomerDialogProps) => {
  const [at, setAt] = useState("period-end")
  const getKey = useIdempotencyKey()
  const cancel = useAction(async () => {
    const body = { at }
    const path = `${toCustomerPath(bucket, customerKey)}/cancel`
    await request("POST", path, { body, idempotencyKey: getKey(body) })
    showToast(
      at === "now" ? "The subscription is canceled." : "The subscription will be canceled when its period ends."
    )
    onSaved()
    onClose()
  })
  return (
    <FormDialog
      title={`Cancel the subscription of ${customerKey}`}
      submitLabel="Cancel the subscription"
      action={cancel}
      onClose={onClose}
    >
      <Select label="When" value={at} options={times} onChange={setAt} />
      <p>From then on, requests that need the plan are refused. The usage stays, and so do the keys.</p>
    </FormDialog>
  )
}
