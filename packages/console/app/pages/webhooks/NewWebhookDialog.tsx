import { useState } from "preact/hooks"
import { request, toPath } from "../../api/request.ts"
import type { WebhookJson } from "../../api/types.ts"
import { FormDialog } from "../../components/FormDialog.tsx"
import { useAction } from "../../data/useAction.ts"
import { useIdempotencyKey } from "../../data/useIdempotencyKey.ts"
import { isUrlProblem, WebhookFields } from "./WebhookFields.tsx"

export interface CreatedWebhook extends WebhookJson {
  readonly secret: string
}

export interface NewWebhookDialogProps {
  readonly account: string
  readonly onCreated: (webhook: CreatedWebhook) => void
  readonly onClose: () => void
}

export const NewWebhookDialog = ({ account, onCreated, onClose }: NewWebhookDialogProps) => {
  const [input, setInput] = useState({ url: "", events: ["*"] as ReadonlyArray<string>, description: "" })
  const getIdempotencyKey = useIdempotencyKey()
  const create = useAction(async () => {
    const { url, events, description } = input
    const body = { url, events, ...(description === "" ? {} : { description }) }
    const { value } = await request<CreatedWebhook>("POST", toPath("/v1/accounts", account, "webhooks"), {
      body,
      idempotencyKey: getIdempotencyKey(body)
    })
    onCreated(value)
  })
  return (
    <FormDialog
      title="New webhook"
      submitLabel="Create webhook"
      action={isUrlProblem(create.problem) ? { ...create, problem: undefined } : create}
      onClose={onClose}
    >
      <WebhookFields input={input} onInput={setInput} problem={create.problem} />
    </FormDialog>
  )
}
