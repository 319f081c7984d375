import type { Problem } from "@tollgate/ui/api/ApiError.ts"
import { getFieldError } from "@tollgate/ui/api/getFieldError.ts"
import { TextArea, TextField } from "@tollgate/ui/components/fields.tsx"
import { EventPatternsField } from "./EventPatternsField.tsx"

/** What a person enters about a webhook. */
export interface WebhookInput {
  readonly url: string
  readonly events: ReadonlyArray<string>
  readonly description: string
}

export interface WebhookFieldsProps {
  readonly input: WebhookInput
  readonly onInput: (input: WebhookInput) => void
  readonly problem: Problem | undefined
}

export const isUrlProblem = (problem: Problem | undefined): boolean =>
  problem?.code === "invalid-webhook-url" || getFieldError(problem, "url") !== undefined

export const WebhookFields = ({ input, onInput, problem }: WebhookFieldsProps) => (
  <>
    <TextField
      label="URL"
      hint="Your endpoint. Tollgate sends a POST request for each event, signed as in Standard Webhooks."
      value={input.url}
      onInput={(url) => onInput({ ...input, url })}
      error={problem?.code === "invalid-webhook-url" ? problem.detail : getFieldError(problem, "url")}
      autoComplete="off"
      autoFocus
      required
    />
    <TextArea
      label="Description"
      rows={2}
      value={input.description}
      onInput={(description) => onInput({ ...input, description })}
      error={getFieldError(problem, "description")}
    />
    <EventPatternsField
      value={input.events}
      onChange={(events) => onInput({ ...input, events })}
      error={getFieldError(problem, "events")}
    />
  </>
)
