import { request, toPath } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { QuotasJson, ReservationJson } from "../../api/types.ts"
import { AmountsField, type AmountTexts, toAmounts } from "./AmountsField.tsx"

/** Settles a reservation at what was used. */
export const SettleDialog = ({
  path,
  reservation,
  onSettled,
  onClose
}: {
  /** The path of the subscription's quotas. */
  readonly path: string
  readonly reservation: ReservationJson
  readonly onSettled: () => void
  readonly onClose: () => void
}) => {
  const [amounts, setAmounts] = useState<AmountTexts>(() =>
    Object.fromEntries(Object.entries(reservation.meters).map(([meter, amount]) => [meter, String(amount)]))
  )
  const getKey = useIdempotencyKey()
  const settle = useAction(async () => {
    const body = { meters: toAmounts(amounts) }
    const settlePath = toPath(`${path}/reservations`, reservation.id, "settle")
    await request<QuotasJson>("POST", settlePath, { body, idempotencyKey: getKey(body) })
    showToast("The reservation was settled.")
    onSettled()
    onClose()
  })
  return (
    <FormDialog title="Settle reservation" submitLabel="Settle" action={settle} onClose={onClose}>
      <p>Enter what was used. The rest is given back.</p>
      <AmountsField
        meters={Object.keys(reservation.meters)}
        amounts={amounts}
        onChange={setAmounts}
        min={0}
        maxima={reservation.meters}
      />
    </FormDialog>
  )
}
