import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { fromLocalInput, toLocalInput } from "@tollgate/ui/format/time.ts"
import { useState } from "preact/hooks"
import type { SubscriptionJson } from "../../api/types.ts"
import { toSubscriptionPath } from "../metering/meteringAddresses.ts"

const weekMs = 7 * 24 * 60 * 60 * 1_000

export const ExtendTrialDialog = ({
  bucket,
  subscription,
  onSaved,
  onClose
}: {
  readonly bucket: string
  readonly subscription: SubscriptionJson
  readonly onSaved: () => void
  readonly onClose: () => void
}) => {
  const [end, setEnd] = useState(() => {
    const present = Date.parse(subscription.trialEndDate ?? new Date().toISOString())
    return toLocalInput(new Date(present + weekMs).toISOString())
  })
  const extend = useAction(async () => {
    const body = { trialEndDate: fromLocalInput(end) }
    await request("PATCH", toSubscriptionPath(bucket, subscription.id), { body })
    showToast(`The trial of ${subscription.customerKey} was extended.`)
    onSaved()
    onClose()
  })
  return (
    <FormDialog
      title={`Extend the trial of ${subscription.customerKey}`}
      submitLabel="Extend"
      action={extend}
      onClose={onClose}
    >
      <TextField label="Trial ends" type="datetime-local" value={end} onInput={setEnd} required />
    </FormDialog>
  )
}
