import type { Reply } from "@tollgate/ui/api/request.ts"
import { type ConflictField, ConflictNotice } from "@tollgate/ui/components/ConflictNotice.tsx"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useVersionedEdit } from "@tollgate/ui/data/useVersionedEdit.ts"
import { formatTime } from "@tollgate/ui/format/time.ts"
import { useState } from "preact/hooks"
import type { ApiKeyJson } from "../../../api/types.ts"
import { KeyFields, type KeyValues, useKeyForm } from "./KeyFields.tsx"
import { checkValue } from "./keyInput.ts"

export interface EditKeyDialogProps {
  readonly path: string
  readonly apiKey: Reply<ApiKeyJson>
  readonly onSaved: () => void
  readonly onClose: () => void
}

const formatExpiry = (expiresOn: string | undefined): string =>
  expiresOn === undefined ? "never" : formatTime(expiresOn)

const compare = (mine: KeyValues, theirs: ApiKeyJson): ReadonlyArray<ConflictField> => [
  { label: "Description", mine: mine.description ?? "", theirs: theirs.description ?? "" },
  { label: "Expires", mine: formatExpiry(mine.expiresOn), theirs: formatExpiry(theirs.expiresOn) },
  { label: "Scopes", mine: mine.scopes.join(" "), theirs: theirs.scopes?.join(" ") ?? "" }
]

export const EditKeyDialog = ({ path, apiKey, onSaved, onClose }: EditKeyDialogProps) => {
  const form = useKeyForm(apiKey.value)
  const [value, setValue] = useState("")
  const [valueError, setValueError] = useState<string>()
  const { theirs, save, resolve } = useVersionedEdit(path, apiKey)
  const action = useAction(async () => {
    const values = form.check()
    const error = checkValue(value)
    setValueError(error)
    if (values === undefined || error !== undefined) return
    const { description = null, expiresOn = null, scopes } = values
    if (await save({ description, expiresOn, scopes, ...(value === "" ? {} : { key: value }) })) onSaved()
  })
  return (
    <FormDialog title={`Edit key ${apiKey.value.key ?? ""}`} submitLabel="Save" action={action} onClose={onClose}>
      <KeyFields form={form} />
      <TextField
        label="New value"
        hint="Leave it empty to keep the value. A new one takes its place at once."
        type="password"
        value={value}
        onInput={setValue}
        error={valueError}
        autoComplete="off"
      />
      {theirs !== undefined && (
        <ConflictNotice
          fields={compare(form.values, theirs)}
          onKeepMine={() => void action.run()}
          onTakeTheirs={() => {
            form.fill(theirs)
            resolve()
          }}
        />
      )}
    </FormDialog>
  )
}
