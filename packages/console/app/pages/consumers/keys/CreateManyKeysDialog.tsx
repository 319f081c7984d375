import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Checkbox, TextField } from "@tollgate/ui/components/fields.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { ApiKeyJson, PageJson } from "../../../api/types.ts"
import type { KeyDialogProps } from "./CreateKeyDialog.tsx"
import { KeyFields, toKeyBody, useKeyForm } from "./KeyFields.tsx"

const maxKeys = 1_000

/** Creates several keys at once: all of them or none. */
export const CreateManyKeysDialog = ({ path, onDone, onClose }: KeyDialogProps) => {
  const form = useKeyForm()
  const [count, setCount] = useState("10")
  const [disabled, setDisabled] = useState(false)
  const getIdempotencyKey = useIdempotencyKey()
  const create = useAction(async () => {
    const values = form.check()
    if (values === undefined) return
    const key = { ...toKeyBody(values), ...(disabled ? { disabled } : {}) }
    const body = Array.from({ length: Number(count) }, () => key)
    const reply = await request<PageJson<ApiKeyJson>>("POST", `${path}/$bulk`, {
      body,
      idempotencyKey: getIdempotencyKey(body)
    })
    onDone(reply.value.data)
  })
  return (
    <FormDialog title="Create many keys" submitLabel="Create keys" action={create} onClose={onClose}>
      <TextField
        label="How many"
        type="number"
        min={1}
        max={maxKeys}
        value={count}
        onInput={setCount}
        required
        autoFocus
        hint="All of them get the same description, expiry and scopes."
      />
      <KeyFields form={form} />
      <Checkbox label="Disabled until I enable them" checked={disabled} onChange={setDisabled} />
    </FormDialog>
  )
}
