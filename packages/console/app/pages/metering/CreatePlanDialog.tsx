import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { PlanJson } from "../../api/types.ts"
import { toBucketPath } from "./meteringAddresses.ts"
import { PlanFields } from "./PlanFields.tsx"
import { checkPlan, emptyPlan, toPlanBody } from "./planForm.ts"

export const CreatePlanDialog = ({
  bucket,
  onCreated,
  onClose
}: {
  readonly bucket: string
  readonly onCreated: () => void
  readonly onClose: () => void
}) => {
  const [input, setInput] = useState(emptyPlan)
  const getKey = useIdempotencyKey()
  const create = useAction(async () => {
    checkPlan(input)
    const body = toPlanBody(input)
    await request<PlanJson>("POST", `${toBucketPath(bucket)}/plans`, { body, idempotencyKey: getKey(body) })
    showToast(`The plan ${input.label} was created.`)
    onCreated()
    onClose()
  })
  return (
    <FormDialog title="Create plan" submitLabel="Create" action={create} onClose={onClose}>
      <PlanFields input={input} onChange={setInput} />
    </FormDialog>
  )
}
