import type { Reply } from "@tollgate/ui/api/request.ts"
import { type ConflictField, ConflictNotice } from "@tollgate/ui/components/ConflictNotice.tsx"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useVersionedEdit } from "@tollgate/ui/data/useVersionedEdit.ts"
import { useState } from "preact/hooks"
import type { WebhookJson } from "../../api/types.ts"
import { isUrlProblem, WebhookFields, type WebhookInput } from "./WebhookFields.tsx"

const toInput = ({ url, events, description = "" }: WebhookJson): WebhookInput => ({ url, events, description })

const formatEvents = (events: ReadonlyArray<string>): string => [...events].sort().join(", ")

const compare = (mine: WebhookInput, theirs: WebhookInput): ReadonlyArray<ConflictField> => [
  { label: "URL", mine: mine.url, theirs: theirs.url },
  { label: "Description", mine: mine.description, theirs: theirs.description },
  { label: "Events", mine: formatEvents(mine.events), theirs: formatEvents(theirs.events) }
]

export interface EditWebhookDialogProps {
  readonly path: string
  /** The webhook as it was read, with its version. */
  readonly webhook: Reply<WebhookJson>
  readonly onSaved: () => void
  readonly onClose: () => void
}

export const EditWebhookDialog = ({ path, webhook, onSaved, onClose }: EditWebhookDialogProps) => {
  const [input, setInput] = useState(toInput(webhook.value))
  const { theirs, save, resolve } = useVersionedEdit(path, webhook)
  const action = useAction(async () => {
    const { url, events, description } = input
    if (await save({ url, events, description: description === "" ? null : description })) onSaved()
  })
  return (
    <FormDialog
      title="Edit webhook"
      submitLabel="Save"
      action={isUrlProblem(action.problem) ? { ...action, problem: undefined } : action}
      onClose={onClose}
    >
      <WebhookFields input={input} onInput={setInput} problem={action.problem} />
      {theirs !== undefined && (
        <ConflictNotice
          fields={compare(input, toInput(theirs))}
          onKeepMine={() => void action.run()}
          onTakeTheirs={() => {
            setInput(toInput(theirs))
            resolve()
          }}
        />
      )}
    </FormDialog>
  )
}
