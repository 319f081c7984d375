import { request, toPath } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { fill } from "@tollgate/ui/words.ts"
import { useState } from "preact/hooks"
import { toPortalPath } from "../session/session.ts"
import { texts } from "../texts/texts.ts"
import type { PortalKeyJson } from "../types.ts"
import { KeyNameField } from "./KeyNameField.tsx"
import { getKeyName } from "./keyStates.ts"

export interface KeyDialogProps {
  readonly apiKey: PortalKeyJson
  readonly onDone: () => void
  readonly onClose: () => void
}

export const RenameKeyDialog = ({ apiKey, onDone, onClose }: KeyDialogProps) => {
  const [name, setName] = useState(apiKey.name ?? "")
  const rename = useAction(async () => {
    await request("PATCH", toPath(toPortalPath("/keys"), apiKey.id), { body: { name: name.trim() } })
    onDone()
  })
  return (
    <FormDialog
      title={fill(texts.renameWhat, { name: getKeyName(apiKey) })}
      submitLabel={texts.renameSubmit}
      action={rename}
      onClose={onClose}
    >
      <KeyNameField value={name} onInput={setName} action={rename} />
    </FormDialog>
  )
}
