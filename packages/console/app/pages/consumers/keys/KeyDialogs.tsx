import { type Reply, request, toPath } from "@tollgate/ui/api/request.ts"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { SecretDialog } from "@tollgate/ui/components/SecretDialog.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { formatQuantity } from "@tollgate/ui/format/numbers.ts"
import type { ApiKeyJson } from "../../../api/types.ts"
import type { ConsumerParams } from "../paths.ts"
import { CreateKeyDialog } from "./CreateKeyDialog.tsx"
import { CreateManyKeysDialog } from "./CreateManyKeysDialog.tsx"
import { EditKeyDialog } from "./EditKeyDialog.tsx"
import { ImportKeysDialog } from "./ImportKeysDialog.tsx"
import { getKeyName } from "./keyColumns.tsx"
import { RollKeyDialog } from "./RollKeyDialog.tsx"

export type OpenDialog =
  | { readonly name: "create" | "createMany" | "import" }
  /** Without a key, all that have no expiry. */
  | { readonly name: "roll"; readonly apiKey?: ApiKeyJson }
  | { readonly name: "edit"; readonly apiKey: Reply<ApiKeyJson> }
  | { readonly name: "revoke"; readonly apiKey: ApiKeyJson }
  | { readonly name: "values"; readonly keys: ReadonlyArray<ApiKeyJson>; readonly isNew: boolean }

export interface KeyDialogsProps {
  readonly params: ConsumerParams
  /** The path of the consumer's keys. */
  readonly path: string
  readonly dialog: OpenDialog | undefined
  readonly onOpen: (dialog: OpenDialog) => void
  readonly onClose: () => void
  /** The list of keys is to be read again. */
  readonly onChanged: () => void
}

const toSecrets = (keys: ReadonlyArray<ApiKeyJson>) =>
  keys.flatMap(({ key, description }, index) =>
    key === undefined ? [] : [{ label: keys.length === 1 ? (description ?? "Key") : `Key ${index + 1}`, value: key }]
  )

/** The dialog that is open, if any. */
export const KeyDialogs = ({ params, path, dialog, onOpen, onClose, onChanged }: KeyDialogsProps) => {
  const showNewKeys = (keys: ReadonlyArray<ApiKeyJson>): void => {
    onChanged()
    onOpen({ name: "values", keys, isNew: true })
  }
  const finish = (message: string): void => {
    onClose()
    showToast(message)
    onChanged()
  }
  switch (dialog?.name) {
    case undefined:
      return null
    case "create":
      return <CreateKeyDialog path={path} onDone={showNewKeys} onClose={onClose} />
    case "createMany":
      return <CreateManyKeysDialog path={path} onDone={showNewKeys} onClose={onClose} />
    case "import":
      return (
        <ImportKeysDialog
          path={path}
          onDone={(keys) => finish(`Imported ${formatQuantity(keys.length, "key")}`)}
          onClose={onClose}
        />
      )
    case "roll":
      return (
        <RollKeyDialog params={params} apiKey={dialog.apiKey} onDone={(key) => showNewKeys([key])} onClose={onClose} />
      )
    case "edit":
      return (
        <EditKeyDialog
          path={toPath(path, dialog.apiKey.value.id)}
          apiKey={dialog.apiKey}
          onSaved={() => finish(`Saved ${getKeyName(dialog.apiKey.value)}`)}
          onClose={onClose}
        />
      )
    case "revoke": {
      const name = getKeyName(dialog.apiKey)
      return (
        <ConfirmDialog
          title={`Revoke ${name}`}
          confirmLabel="Revoke key"
          onClose={onClose}
          onConfirm={async () => {
            await request("DELETE", toPath(path, dialog.apiKey.id))
            showToast(`Revoked ${name}`)
            onChanged()
          }}
        >
          <p>It stops working at once, and this cannot be undone. To stop it for a while, disable it instead.</p>
          {dialog.apiKey.description !== undefined && <p>Description: {dialog.apiKey.description}</p>}
        </ConfirmDialog>
      )
    }
    case "values":
      return (
        <SecretDialog
          title={dialog.isNew ? formatQuantity(dialog.keys.length, "new key") : "Key value"}
          secrets={toSecrets(dialog.keys)}
          onClose={onClose}
        >
          <p>
            {dialog.isNew
              ? "Copy now: where the server does not keep key values, this is the only time you see them."
              : `Whoever has it can call your API as ${params.consumer}.`}
          </p>
        </SecretDialog>
      )
  }
}
