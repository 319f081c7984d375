import { ConflictNotice } from "@tollgate/ui/components/ConflictNotice.tsx"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useVersionedEdit } from "@tollgate/ui/data/useVersionedEdit.ts"
import { useState } from "preact/hooks"
import type { PlanJson } from "../../api/types.ts"
import { toPlanPath } from "./meteringAddresses.ts"
import { PlanFields } from "./PlanFields.tsx"
import { checkPlan, comparePlans, toPlanBody, toPlanInput } from "./planForm.ts"

export interface EditPlanDialogProps {
  readonly bucket: string
  readonly plan: PlanJson
  readonly version: string | undefined
  readonly onSaved: () => void
  readonly onClose: () => void
}

export const EditPlanDialog = ({ bucket, plan, version, onSaved, onClose }: EditPlanDialogProps) => {
  const [input, setInput] = useState(() => toPlanInput(plan))
  const { base, theirs, save, resolve } = useVersionedEdit(toPlanPath(bucket, plan.id), { value: plan, version })
  const edit = useAction(async () => {
    checkPlan(input, base)
    if (!(await save(toPlanBody(input, base)))) return
    showToast(`The plan ${input.label} was saved.`)
    onSaved()
    onClose()
  })
  const takeTheirs = (current: PlanJson): void => {
    setInput(toPlanInput(current))
    resolve()
  }
  return (
    <FormDialog title="Edit plan" submitLabel="Save" action={edit} onClose={onClose}>
      <PlanFields input={input} onChange={setInput} />
      {theirs !== undefined && (
        <ConflictNotice
          fields={comparePlans(input, toPlanInput(theirs))}
          onKeepMine={() => void edit.run()}
          onTakeTheirs={() => takeTheirs(theirs)}
        />
      )}
    </FormDialog>
  )
}
