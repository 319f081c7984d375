import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { QuotasJson } from "../../api/types.ts"
import { toBucketPath } from "./meteringAddresses.ts"
import { checkNames } from "./planForm.ts"
import { RowsField } from "./RowsField.tsx"

const emptyRow = { name: "", amount: "" }

/** Counts usage of a customer that has happened already. */
export const RecordUsageDialog = ({
  bucket,
  onRecorded,
  onClose
}: {
  readonly bucket: string
  readonly onRecorded: () => void
  readonly onClose: () => void
}) => {
  const [customerKey, setCustomerKey] = useState("")
  const [rows, setRows] = useState<ReadonlyArray<typeof emptyRow>>([emptyRow])
  const getKey = useIdempotencyKey()
  const record = useAction(async () => {
    checkNames(rows)
    const meters = Object.fromEntries(rows.map(({ name, amount }) => [name, Number(amount)]))
    const body = { customerKey, meters }
    const path = `${toBucketPath(bucket)}/usage`
    await request<QuotasJson>("POST", path, { body, idempotencyKey: getKey(body) })
    showToast(`The usage of ${customerKey} was recorded.`)
    onRecorded()
    onClose()
  })
  return (
    <FormDialog title="Record usage" submitLabel="Record" action={record} onClose={onClose}>
      <p>
        Counts what a customer has used already, on the newest subscription that has the meters, also above the maximum.
      </p>
      <TextField label="Customer" value={customerKey} onInput={setCustomerKey} required autoFocus autoComplete="off" />
      <RowsField
        legend="Amounts"
        hint="The meters and how much was used of each."
        rows={rows}
        emptyRow={emptyRow}
        addLabel="Add meter"
        onChange={setRows}
      >
        {(row, number, set) => (
          <>
            <TextField label={`Meter ${number}`} value={row.name} onInput={(name) => set({ ...row, name })} required />
            <TextField
              label={`Amount ${number}`}
              type="number"
              min={1}
              value={row.amount}
              onInput={(amount) => set({ ...row, amount })}
              required
            />
          </>
        )}
      </RowsField>
    </FormDialog>
  )
}
