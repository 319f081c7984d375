import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Checkbox, TextField } from "@tollgate/ui/components/fields.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { ApiKeyJson } from "../../../api/types.ts"
import { KeyFields, toKeyBody, useKeyForm } from "./KeyFields.tsx"
import { checkValue } from "./keyInput.ts"

export interface KeyDialogProps {
  /** The path of the consumer's keys. */
  readonly path: string
  readonly onDone: (keys: ReadonlyArray<ApiKeyJson>) => void
  readonly onClose: () => void
}

export const CreateKeyDialog = ({ path, onDone, onClose }: KeyDialogProps) => {
  const form = useKeyForm()
  const [value, setValue] = useState("")
  const [valueError, setValueError] = useState<string>()
  const [disabled, setDisabled] = useState(false)
  const getIdempotencyKey = useIdempotencyKey()
  const create = useAction(async () => {
    const values = form.check()
    const error = checkValue(value)
    setValueError(error)
    if (values === undefined || error !== undefined) return
    const body = {
      ...toKeyBody(values),
      ...(value === "" ? {} : { key: value }),
      ...(disabled ? { disabled } : {})
    }
    const reply = await request<ApiKeyJson>("POST", path, { body, idempotencyKey: getIdempotencyKey(body) })
    onDone([reply.value])
  })
  return (
    <FormDialog title="Create a key" submitLabel="Create key" action={create} onClose={onClose}>
      <KeyFields form={form} />
      <TextField
        label="Your own value"
        hint="Leave it empty, and Tollgate makes one. Otherwise 16 to 256 visible characters."
        type="password"
        value={value}
        onInput={setValue}
        error={valueError}
        autoComplete="off"
      />
      <Checkbox label="Disabled until I enable it" checked={disabled} onChange={setDisabled} />
    </FormDialog>
  )
}
