import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Checkbox, TextArea } from "@tollgate/ui/components/fields.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { ApiKeyJson, PageJson } from "../../../api/types.ts"
import type { KeyDialogProps } from "./CreateKeyDialog.tsx"
import { KeyFields, toKeyBody, useKeyForm } from "./KeyFields.tsx"
import { parseImport } from "./parseImport.ts"

/** Imports keys that another system issued, by the hashes of their values. */
export const ImportKeysDialog = ({ path, onDone, onClose }: KeyDialogProps) => {
  const form = useKeyForm()
  const [lines, setLines] = useState("")
  const [linesError, setLinesError] = useState<string>()
  const [disabled, setDisabled] = useState(false)
  const getIdempotencyKey = useIdempotencyKey()
  const importKeys = useAction(async () => {
    const values = form.check()
    const { keys, error } = parseImport(lines)
    setLinesError(error)
    if (values === undefined || error !== undefined) return
    const common = { ...toKeyBody(values), ...(disabled ? { disabled } : {}) }
    const body = { keys: keys.map((key) => ({ ...common, ...key })) }
    const reply = await request<PageJson<ApiKeyJson>>("POST", `${path}/$import`, {
      body,
      idempotencyKey: getIdempotencyKey(body)
    })
    onDone(reply.value.data)
  })
  return (
    <FormDialog title="Import keys" submitLabel="Import keys" action={importKeys} onClose={onClose}>
      <p>Keys of another system keep working here with their old values, which Tollgate does not learn.</p>
      <TextArea
        label="SHA-256 hashes"
        hint="One per line: the hash in hexadecimal digits, then the last characters of the value and a description, if you like."
        value={lines}
        onInput={setLines}
        error={linesError}
      />
      <KeyFields form={form} />
      <Checkbox label="Disabled until I enable them" checked={disabled} onChange={setDisabled} />
    </FormDialog>
  )
}
