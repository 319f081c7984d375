import { getFieldError } from "@tollgate/ui/api/getFieldError.ts"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import type { Action } from "@tollgate/ui/data/useAction.ts"
import { texts } from "../texts/texts.ts"

export interface KeyNameFieldProps {
  readonly value: string
  readonly onInput: (value: string) => void
  /** What sends the name. */
  readonly action: Pick<Action<[]>, "problem">
  readonly hint?: string | undefined
}

export const KeyNameField = ({ value, onInput, action, hint }: KeyNameFieldProps) => (
  <TextField
    label={texts.keyName}
    hint={hint}
    value={value}
    onInput={onInput}
    error={getFieldError(action.problem, "name")}
    maxLength={256}
    pattern=".*\S.*"
    required
    autoFocus
    autoComplete="off"
  />
)
