import { request } from "@tollgate/ui/api/request.ts"
import { FormDialog } from "@tollgate/ui/components/FormDialog.tsx"
import { Select, TextField } from "@tollgate/ui/components/fields.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { fromLocalInput } from "@tollgate/ui/format/time.ts"
import { useState } from "preact/hooks"
import type { TokenWithValueJson } from "../../api/types.ts"
import { checkPermissions, parsePermissions, roles } from "./grants.ts"

export interface CreateTokenDialogProps {
  readonly path: string
  readonly onCreated: (token: TokenWithValueJson) => void
  readonly onClose: () => void
}

export const CreateTokenDialog = ({ path, onCreated, onClose }: CreateTokenDialogProps) => {
  const [description, setDescription] = useState("")
  const [role, setRole] = useState("support")
  const [permissions, setPermissions] = useState("")
  const [permissionsError, setPermissionsError] = useState<string>()
  const [expiry, setExpiry] = useState("")
  const getIdempotencyKey = useIdempotencyKey()
  const create = useAction(async () => {
    const error = role === "" ? checkPermissions(permissions) : undefined
    setPermissionsError(error)
    if (error !== undefined) return
    const body = {
      description,
      permissions: role === "" ? parsePermissions(permissions) : [role],
      ...(expiry === "" ? {} : { expiresOn: fromLocalInput(expiry) })
    }
    const { value } = await request<TokenWithValueJson>("POST", path, {
      body,
      idempotencyKey: getIdempotencyKey(body)
    })
    onCreated(value)
  })
  return (
    <FormDialog title="Create a token" submitLabel="Create token" action={create} onClose={onClose}>
      <TextField
        label="Whom or what it is for"
        value={description}
        onInput={setDescription}
        required
        autoFocus
        autoComplete="off"
      />
      <Select label="It may do" value={role} onChange={setRole} options={roles} />
      {role === "" && (
        <TextField
          label="Permissions"
          hint="Separated by spaces, such as consumers:read keys:write"
          value={permissions}
          onInput={setPermissions}
          error={permissionsError}
          autoComplete="off"
        />
      )}
      <TextField
        label="Expires"
        hint="In your time zone. Leave it empty for a token that does not expire."
        type="datetime-local"
        value={expiry}
        onInput={setExpiry}
      />
    </FormDialog>
  )
}
