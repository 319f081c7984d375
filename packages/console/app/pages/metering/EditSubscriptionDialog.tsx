import { ConflictNotice } from "@tollgate/ui/components/ConflictNotice.tsx"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Select, TextArea, TextField } from "@tollgate/ui/components/fields.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useVersionedEdit } from "@tollgate/ui/data/useVersionedEdit.ts"
import { useState } from "preact/hooks"
import type { SubscriptionJson } from "../../api/types.ts"
import { compareEdits, haveSamePlans, type SubscriptionEdit, toEdit, toUpdateBody } from "./editSubscription.ts"
import { toSubscriptionPath } from "./meteringAddresses.ts"
import { PlanPicker } from "./PlanPicker.tsx"
import { statusOptions } from "./subscriptionStatus.ts"

/** A meter of which a customer is to have more. */
export interface RaisedMeter {
  readonly name: string
  readonly max: number
}

export interface EditSubscriptionDialogProps {
  /** For the overrides: the meter that they begin with. */
  readonly raised?: RaisedMeter | undefined
  readonly bucket: string
  readonly subscription: SubscriptionJson
  readonly version: string | undefined
  readonly onSaved: () => void
  readonly onClose: () => void
}

export const EditSubscriptionDialog = ({
  bucket,
  subscription,
  version,
  onSaved,
  onClose
}: EditSubscriptionDialogProps) => {
  const [edit, setEdit] = useState(() => toEdit(subscription))
  const change = (changed: Partial<SubscriptionEdit>): void => setEdit({ ...edit, ...changed })
  const path = toSubscriptionPath(bucket, subscription.id)
  const { base, theirs, save, resolve } = useVersionedEdit(path, { value: subscription, version })
  const saveEdit = useAction(async () => {
    if (!(await save(toUpdateBody(edit, base)))) return
    showToast("The subscription was saved.")
    onSaved()
    onClose()
  })
  return (
    <FormDialog title="Edit subscription" submitLabel="Save" action={saveEdit} onClose={onClose}>
      <Select
        label="Status"
        value={edit.status}
        options={statusOptions}
        onChange={(status) => change({ status: status as SubscriptionJson["status"] })}
      />
      <PlanPicker bucket={bucket} picked={edit.plans} onChange={(plans) => change({ plans })} />
      {!haveSamePlans(edit, base) && (
        <TextField
          label="Share of the new plans’ limits in this period"
          hint="From 0 to 1, such as 0.5 for half of them. Empty: all of them. What was used stays used."
          value={edit.prorate}
          onInput={(prorate) => change({ prorate })}
          pattern="0(\.\d+)?|1(\.0+)?"
        />
      )}
      {(edit.status === "trialing" || edit.trialEndDate !== "") && (
        <TextField
          label="Trial ends"
          type="datetime-local"
          value={edit.trialEndDate}
          onInput={(trialEndDate) => change({ trialEndDate })}
        />
      )}
      <TextArea label="Metadata" hint="JSON" value={edit.metadata} onInput={(metadata) => change({ metadata })} />
      {theirs !== undefined && (
        <ConflictNotice
          fields={compareEdits(edit, toEdit(theirs))}
          onKeepMine={() => void saveEdit.run()}
          onTakeTheirs={() => {
            setEdit(toEdit(theirs))
            resolve()
          }}
        />
      )}
    </FormDialog>
  )
}
