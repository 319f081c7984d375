import { useState } from "preact/hooks"
import { request } from "../../api/request.ts"
import type { MeteringBucketJson } from "../../api/types.ts"
import { FormDialog } from "../../components/FormDialog.tsx"
import { TextField } from "../../components/fields.tsx"
import { useAction } from "../../data/useAction.ts"
import { useIdempotencyKey } from "../../data/useIdempotencyKey.ts"
import { goTo } from "../../routing/router.ts"
import { linkToBucket } from "./meteringAddresses.ts"

export const CreateBucketDialog = ({
  account,
  onClose
}: {
  readonly account: string
  readonly onClose: () => void
}) => {
  const [name, setName] = useState("")
  const getKey = useIdempotencyKey()
  const create = useAction(async () => {
    const body = { accountName: account, ...(name === "" ? {} : { name }) }
    const { value } = await request<MeteringBucketJson>("POST", "/v1/metering", { body, idempotencyKey: getKey(body) })
    onClose()
    goTo(linkToBucket(account, value.id))
  })
  return (
    <FormDialog title="Create metering bucket" submitLabel="Create" action={create} onClose={onClose}>
      <TextField
        label="Name"
        hint="Letters, digits, “_”, “.” and “-”. It never changes. Without a name, the bucket is known by its id."
        value={name}
        onInput={setName}
        autoFocus
        autoComplete="off"
      />
    </FormDialog>
  )
}
