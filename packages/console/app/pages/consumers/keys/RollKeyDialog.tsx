import { useRef, useState } from "preact/hooks"
import { get, request, toPath } from "../../../api/request.ts"
import type { ApiKeyJson } from "../../../api/types.ts"
import { FormDialog } from "../../../components/FormDialog.tsx"
import { Select, TextField } from "../../../components/fields.tsx"
import { useAction } from "../../../data/useAction.ts"
import { useIdempotencyKey } from "../../../data/useIdempotencyKey.ts"
import { fromLocalInput } from "../../../format/time.ts"
import { type ConsumerParams, toConsumerPath } from "../paths.ts"
import { type GracePeriod, gracePeriods, toExpiry } from "./gracePeriods.ts"
import { checkScopes, parseScopes } from "./keyInput.ts"

export interface RollKeyDialogProps {
  readonly params: ConsumerParams
  readonly onDone: (key: ApiKeyJson) => void
  readonly onClose: () => void
}

/** The response has the key itself only where key values are not kept; otherwise it says where the key is. */
const rollKey = async (path: string, body: unknown, idempotencyKey: string): Promise<ApiKeyJson> => {
  const reply = await request<ApiKeyJson | undefined>("POST", `${path}/roll-key`, { body, idempotencyKey })
  if (reply.value !== undefined) return reply.value
  const keyId = decodeURIComponent(reply.location?.split("/").at(-1) ?? "")
  return get<ApiKeyJson>(toPath(`${path}/keys`, keyId), { "key-format": "visible" })
}

/** Replaces all keys without an expiry by a new one. */
export const RollKeyDialog = ({ params, onDone, onClose }: RollKeyDialogProps) => {
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
      ...(newScopes.length === 0 ? {} : { scopes: newScopes })
    }
    onDone(await rollKey(toConsumerPath(params), body, getIdempotencyKey(body)))
  })
  return (
    <FormDialog title={`Roll the keys of ${params.consumer}`} submitLabel="Roll keys" action={roll} onClose={onClose}>
      <p>
        {params.consumer} gets a new key. All its keys without an expiry stop working when the grace period ends; those
        with an expiry keep it.
      </p>
      <Select
        label="Grace period of the former keys"
        value={period}
        onChange={(value) => setPeriod(value as GracePeriod)}
        options={gracePeriods}
      />
      {period === "custom" && (
        <TextField
          label="Former keys stop on"
          hint="In your time zone."
          type="datetime-local"
          value={date}
          onInput={setDate}
          required
        />
      )}
      <TextField
        label="Scopes of the new key"
        hint="Leave it empty for those of the newest key without an expiry."
        value={scopes}
        onInput={setScopes}
        error={scopesError}
        autoComplete="off"
      />
    </FormDialog>
  )
}
