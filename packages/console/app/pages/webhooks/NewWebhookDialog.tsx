import { request, toPath } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { WebhookJson } from "../../api/types.ts"
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
