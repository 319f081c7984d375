import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Select, TextField } from "@tollgate/ui/components/fields.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { fromLocalInput } from "@tollgate/ui/format/time.ts"
import { useRef, useState } from "preact/hooks"
import type { ApiKeyJson } from "../../../api/types.ts"
import { may } from "../../../session/session.ts"
import { type ConsumerParams, toConsumerPath } from "../paths.ts"
import { type GracePeriod, gracePeriods, toExpiry } from "./gracePeriods.ts"
import { getKeyName } from "./keyColumns.tsx"
import { checkScopes, parseScopes } from "./keyInput.ts"

export interface RollKeyDialogProps {
  readonly params: ConsumerParams
  /** The key to replace. Without one, all that have no expiry. */
  readonly apiKey?: ApiKeyJson | undefined
  readonly onDone: (key: ApiKeyJson) => void
  readonly onClose: () => void
}

const rollKey = async (path: string, body: unknown, idempotencyKey: string): Promise<ApiKeyJson> => {
  const query = { "key-format": "visible" }
  const { value } = await request<ApiKeyJson>("POST", `${path}/roll-key`, { query, body, idempotencyKey })
  return value
}

/** Replaces a key, or all keys without an expiry, by a new one. */
export const RollKeyDialog = ({ params, apiKey, onDone, onClose }: RollKeyDialogProps) => {
  const [period, setPeriod] = useState<GracePeriod>("day")
  const [date, setDate] = useState("")
  const [scopes, setScopes] = useState("")
  const [scopesError, setScopesError] = useState<string>()
  const getIdempotencyKey = useIdempotencyKey()
  // Counted from the first attempt, so that a repeated attempt is the same request and rolls once.
  const expiry = useRef<{ readonly period: GracePeriod; readonly expiresOn: string }>(undefined)
  const roll = useAction(async () => {
    const error = checkScopes(scopes)
    setScopesError(error)
    if (error !== undefined) return
    if (period !== "custom" && expiry.current?.period !== period)
      expiry.current = { period, expiresOn: toExpiry(period) }
    const newScopes = parseScopes(scopes)
    const body = {
      expiresOn: period === "custom" ? fromLocalInput(date) : expiry.current?.expiresOn,
      ...(apiKey === undefined ? {} : { keyId: apiKey.id }),
      ...(newScopes.length === 0 ? {} : { scopes: newScopes })
    }
    onDone(await rollKey(toConsumerPath(params), body, getIdempotencyKey(body)))
  })
  return (
    <FormDialog
      title={apiKey === undefined ? `Roll all keys of ${params.consumer}` : `Roll key ${getKeyName(apiKey)}`}
      submitLabel={apiKey === undefined ? "Roll all keys" : "Roll key"}
      action={roll}
      onClose={onClose}
    >
      {apiKey === undefined ? (
        <p>
          {params.consumer} gets a new key. All its keys without an expiry stop working when the grace period ends;
          those with an expiry keep it.
        </p>
      ) : (
        <p>
          {params.consumer} gets a new key that may do the same. This one stops working when the grace period ends; the
          other keys stay.
        </p>
      )}
      <Select
        label={apiKey === undefined ? "Grace period of the former keys" : "Grace period of the former key"}
        value={period}
        onChange={(value) => setPeriod(value as GracePeriod)}
        options={gracePeriods}
      />
      {period === "custom" && (
        <TextField
          label={apiKey === undefined ? "Former keys stop on" : "Former key stops on"}
          hint="In your time zone."
          type="datetime-local"
          value={date}
          onInput={setDate}
          required
        />
      )}
      {may("keys:write") && (
        <TextField
          label="Scopes of the new key"
          hint={`Leave it empty for those of ${apiKey === undefined ? "the newest key without an expiry" : "the former key"}.`}
          value={scopes}
          onInput={setScopes}
          error={scopesError}
          autoComplete="off"
        />
      )}
    </FormDialog>
  )
}
