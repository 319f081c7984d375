import { type Reply, request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { TextArea } from "@tollgate/ui/components/fields.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useState } from "preact/hooks"
import type { ConsumerJson } from "../../api/types.ts"

/** Adds a line to the description of a consumer. The event log has who wrote it, and when. */
export const AddNoteDialog = ({
  path,
  consumer: { value, version },
  onSaved,
  onClose
}: {
  readonly path: string
  readonly consumer: Reply<ConsumerJson>
  readonly onSaved: () => void
  readonly onClose: () => void
}) => {
  const [note, setNote] = useState("")
  const save = useAction(async () => {
    const description = [value.description, note.trim()].filter(Boolean).join("\n")
    await request("PATCH", path, { version, body: { description } })
    onSaved()
  })
  return (
    <FormDialog title={`Add a note to ${value.name}`} submitLabel="Add note" action={save} onClose={onClose}>
      <TextArea
        label="Note"
        hint="It stands below the description, for all who see this page. The customer does not see it."
        value={note}
        onInput={setNote}
        required
        autoFocus
      />
    </FormDialog>
  )
}
