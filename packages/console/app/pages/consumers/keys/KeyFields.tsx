/** The fields of a key that can be created and edited. */

import { TextField } from "@tollgate/ui/components/fields.tsx"
import { toLocalInput } from "@tollgate/ui/format/time.ts"
import { useState } from "preact/hooks"
import type { ApiKeyJson } from "../../../api/types.ts"
import { checkScopes, parseExpiry, parseScopes } from "./keyInput.ts"

interface Input {
  readonly description: string
  readonly expiry: string
  readonly scopes: string
}

export interface KeyValues {
  readonly description: string | undefined
  readonly expiresOn: string | undefined
  readonly scopes: ReadonlyArray<string>
}

export interface KeyForm {
  readonly input: Input
  readonly setInput: (change: Partial<Input>) => void
  readonly scopesError: string | undefined
  readonly values: KeyValues
  /** Shows what is wrong, and returns the values if nothing is. */
  readonly check: () => KeyValues | undefined
  readonly fill: (key: ApiKeyJson) => void
}

const toInput = ({ description = "", expiresOn, scopes = [] }: Partial<ApiKeyJson>): Input => ({
  description,
  expiry: expiresOn === undefined ? "" : toLocalInput(expiresOn),
  scopes: scopes.join(" ")
})

export const useKeyForm = (key: Partial<ApiKeyJson> = {}): KeyForm => {
  const [input, setInput] = useState(() => toInput(key))
  const [former, setFormer] = useState(key)
  const [areErrorsShown, setAreErrorsShown] = useState(false)
  const scopesError = checkScopes(input.scopes)
  const values = {
    description: input.description || undefined,
    expiresOn: parseExpiry(input.expiry, former.expiresOn),
    scopes: parseScopes(input.scopes)
  }
  return {
    input,
    setInput: (change) => setInput((input) => ({ ...input, ...change })),
    scopesError: areErrorsShown ? scopesError : undefined,
    values,
    check: () => {
      setAreErrorsShown(true)
      return scopesError === undefined ? values : undefined
    },
    fill: (key) => {
      setFormer(key)
      setInput(toInput(key))
    }
  }
}

/** Without the fields that are empty. */
export const toKeyBody = ({ description, expiresOn, scopes }: KeyValues) => ({
  ...(description === undefined ? {} : { description }),
  ...(expiresOn === undefined ? {} : { expiresOn }),
  ...(scopes.length === 0 ? {} : { scopes })
})

export const KeyFields = ({ form }: { readonly form: KeyForm }) => (
  <>
    <TextField
      label="Description"
      value={form.input.description}
      onInput={(description) => form.setInput({ description })}
      autoComplete="off"
    />
    <TextField
      label="Expires"
      hint="In your time zone. Leave it empty for a key that does not expire."
      type="datetime-local"
      value={form.input.expiry}
      onInput={(expiry) => form.setInput({ expiry })}
    />
    <TextField
      label="Scopes"
      hint="Separated by spaces, such as orders:read users:*"
      value={form.input.scopes}
      onInput={(scopes) => form.setInput({ scopes })}
      error={form.scopesError}
      autoComplete="off"
    />
  </>
)
