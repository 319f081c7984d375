import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { QuotasJson, ReservationJson } from "../../api/types.ts"
import { AmountsField, type AmountTexts, toAmounts } from "./AmountsField.tsx"

export interface CountDialogProps {
  /** The path of the subscription's quotas. */
  readonly path: string
  readonly meters: ReadonlyArray<string>
  readonly onClose: () => void
}

/** Consumes meters of a subscription. */
export const ConsumeDialog = ({
  path,
  meters,
  onConsumed,
  onClose
}: CountDialogProps & { readonly onConsumed: () => void }) => {
  const [amounts, setAmounts] = useState<AmountTexts>({})
  const getKey = useIdempotencyKey()
  const consume = useAction(async () => {
    const body = { meters: toAmounts(amounts) }
    await request<QuotasJson>("POST", `${path}/consume`, { body, idempotencyKey: getKey(body) })
    showToast("The usage was counted.")
    onConsumed()
    onClose()
  })
  return (
    <FormDialog title="Count usage" submitLabel="Count" action={consume} onClose={onClose}>
      <p>Counts at once, all meters or none, as a request of the customer would. It cannot be taken back.</p>
      <AmountsField meters={meters} amounts={amounts} onChange={setAmounts} min={1} />
    </FormDialog>
  )
}

/** Reserves amounts of meters for work whose cost is known only afterwards. */
export const ReserveDialog = ({
  path,
  meters,
  onReserved,
  onClose
}: CountDialogProps & { readonly onReserved: (reservation: ReservationJson) => void }) => {
  const [amounts, setAmounts] = useState<AmountTexts>({})
  const [expiresIn, setExpiresIn] = useState("600")
  const getKey = useIdempotencyKey()
  const reserve = useAction(async () => {
    const body = { meters: toAmounts(amounts), expiresIn: Number(expiresIn) }
    const { value } = await request<ReservationJson>("POST", `${path}/reserve`, { body, idempotencyKey: getKey(body) })
    showToast("The amounts are reserved.")
    onReserved(value)
    onClose()
  })
  return (
    <FormDialog title="Reserve" submitLabel="Reserve" action={reserve} onClose={onClose}>
      <p>
        Holds amounts until you settle at what was used, or release them. What is neither settled nor released is given
        back when the reservation expires.
      </p>
      <AmountsField meters={meters} amounts={amounts} onChange={setAmounts} min={1} />
      <TextField
        label="Expires in seconds"
        type="number"
        min={1}
        max={3600}
        value={expiresIn}
        onInput={setExpiresIn}
        required
      />
    </FormDialog>
  )
}
