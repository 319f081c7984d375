import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Select, TextField } from "@tollgate/ui/components/fields.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { formatQuantity } from "@tollgate/ui/format/numbers.ts"
import { fromLocalInput } from "@tollgate/ui/format/time.ts"
import { useState } from "preact/hooks"
import type { GrantJson, QuotasJson } from "../../api/types.ts"
import { toCustomerPath } from "./meteringAddresses.ts"

/** When a meter resets; `undefined` if it never does. */
const getReset = ({ meters, resetsOn }: QuotasJson, meter: string): string | undefined => {
  const quota = meters[meter]
  return quota?.periodStart === undefined ? resetsOn : quota.resetsOn
}

/** Gives a customer an amount of a meter beyond what the plans allow. */
export const GiveCreditDialog = ({
  bucket,
  customerKey,
  quotas,
  meter: given,
  onSaved,
  onClose
}: {
  readonly bucket: string
  readonly customerKey: string
  readonly quotas: QuotasJson
  readonly meter?: string | undefined
  readonly onSaved: () => void
  readonly onClose: () => void
}) => {
  const meters = Object.keys(quotas.meters).sort()
  const [meter, setMeter] = useState(given ?? meters[0] ?? "")
  const [amount, setAmount] = useState("")
  const [expiry, setExpiry] = useState("never")
  const [date, setDate] = useState("")
  const [reason, setReason] = useState("")
  const getKey = useIdempotencyKey()
  const reset = getReset(quotas, meter)
  const give = useAction(async () => {
    const expiresOn = expiry === "date" ? fromLocalInput(date) : expiry === "reset" ? reset : undefined
    const body = {
      meter,
      amount: Number(amount),
      ...(expiresOn === undefined ? {} : { expiresOn }),
      ...(reason === "" ? {} : { reason })
    }
    const path = `${toCustomerPath(bucket, customerKey)}/grants`
    await request<GrantJson>("POST", path, { body, idempotencyKey: getKey(body) })
    showToast(`${customerKey} got ${formatQuantity(body.amount, "unit")} of ${meter}.`)
    onSaved()
    onClose()
  })
  return (
    <FormDialog title={`Give credit to ${customerKey}`} submitLabel="Give credit" action={give} onClose={onClose}>
      <p>It is spent after what the plan allows, and does not reset.</p>
      <Select
        label="Meter"
        value={meter}
        onChange={setMeter}
        options={meters.map((name) => ({ value: name, label: name }))}
      />
      <TextField
        label="Amount"
        type="number"
        min={1}
        value={amount}
        onInput={setAmount}
        required
        autoFocus={given !== undefined || meters.length === 1}
      />
      <Select
        label="Expires"
        value={expiry}
        onChange={setExpiry}
        options={[
          { value: "never", label: "never" },
          ...(reset === undefined ? [] : [{ value: "reset", label: "when the quota resets" }]),
          { value: "date", label: "on a date" }
        ]}
      />
      {expiry === "date" && (
        <TextField
          label="Expires on"
          hint="In your time zone."
          type="datetime-local"
          value={date}
          onInput={setDate}
          required
        />
      )}
      <TextField
        label="Reason"
        hint="For your colleagues; it is in the list of credit and in the events."
        value={reason}
        onInput={setReason}
        maxLength={4_096}
        autoComplete="off"
      />
    </FormDialog>
  )
}
