import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import { toPortalPath } from "../session/session.ts"
import { texts } from "../texts/texts.ts"
import type { PortalKeyJson } from "../types.ts"
import { KeyNameField } from "./KeyNameField.tsx"

export interface CreateKeyDialogProps {
  readonly onDone: (apiKey: PortalKeyJson) => void
  readonly onClose: () => void
}

export const CreateKeyDialog = ({ onDone, onClose }: CreateKeyDialogProps) => {
  const [name, setName] = useState("")
  const getIdempotencyKey = useIdempotencyKey()
  const create = useAction(async () => {
    const body = { name: name.trim() }
    const idempotencyKey = getIdempotencyKey(body)
    onDone((await request<PortalKeyJson>("POST", toPortalPath("/keys"), { body, idempotencyKey })).value)
  })
  return (
    <FormDialog title={texts.createKey} submitLabel={texts.createKey} action={create} onClose={onClose}>
      <KeyNameField value={name} onInput={setName} action={create} hint={texts.keyNameHint} />
    </FormDialog>
  )
}
