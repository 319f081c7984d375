import { useState } from "preact/hooks"
import { ApiError } from "../../api/ApiError.ts"
import { type Reply, request } from "../../api/request.ts"
import type { WebhookJson } from "../../api/types.ts"
import { type ConflictField, ConflictNotice } from "../../components/ConflictNotice.tsx"
import { FormDialog } from "../../components/FormDialog.tsx"
import { useAction } from "../../data/useAction.ts"
import { isUrlProblem, WebhookFields, type WebhookInput } from "./WebhookFields.tsx"

const toInput = ({ url, events, description = "" }: WebhookJson): WebhookInput => ({ url, events, description })

const toTexts = ({ url, events, description }: WebhookInput): ReadonlyArray<readonly [string, string]> => [
  ["URL", url],
  ["Description", description],
  ["Events", [...events].sort().join(", ")]
]

/** The fields in which what was entered differs from what the server has. */
const compare = (mine: WebhookInput, theirs: WebhookInput): ReadonlyArray<ConflictField> => {
  const theirTexts = new Map(toTexts(theirs))
  return toTexts(mine).flatMap(([label, text]) => {
    const other = theirTexts.get(label) ?? ""
    return other === text ? [] : [{ label, mine: text, theirs: other }]
  })
}

export interface EditWebhookDialogProps {
  readonly path: string
  /** The webhook as it was read, with its version. */
  readonly webhook: Reply<WebhookJson>
  readonly onSaved: () => void
  readonly onClose: () => void
}

export const EditWebhookDialog = ({ path, webhook, onSaved, onClose }: EditWebhookDialogProps) => {
  const [base, setBase] = useState(webhook)
  const [input, setInput] = useState(toInput(webhook.value))
  const [isConflicting, setIsConflicting] = useState(false)
  const save = useAction(async () => {
    const { url, events, description } = input
    const body = { url, events, description: description === "" ? null : description }
    setIsConflicting(false)
    try {
      await request("PATCH", path, { body, version: base.version })
    } catch (error) {
      if (!(error instanceof ApiError) || error.problem.status !== 412) throw error
      setBase(await request<WebhookJson>("GET", path))
      return setIsConflicting(true)
    }
    onSaved()
  })
  return (
    <FormDialog
      title="Edit webhook"
      submitLabel="Save"
      action={isUrlProblem(save.problem) ? { ...save, problem: undefined } : save}
      onClose={onClose}
    >
      <WebhookFields input={input} onInput={setInput} problem={save.problem} />
      {isConflicting && (
        <ConflictNotice
          fields={compare(input, toInput(base.value))}
          onKeepMine={() => void save.run()}
          onTakeTheirs={() => {
            setInput(toInput(base.value))
            setIsConflicting(false)
          }}
        />
      )}
    </FormDialog>
  )
}
