import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { MeteringBucketJson } from "../../api/types.ts"
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
