import { request, toPath } from "@tollgate/ui/api/request.ts"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { fill } from "@tollgate/ui/words.ts"
import { toPortalPath } from "../session/session.ts"
import { texts } from "../texts/texts.ts"
import { getKeyName } from "./keyStates.ts"
import type { KeyDialogProps } from "./RenameKeyDialog.tsx"

export const RevokeKeyDialog = ({ apiKey, onDone, onClose }: KeyDialogProps) => {
  const name = getKeyName(apiKey)
  return (
    <ConfirmDialog
      title={fill(texts.revokeWhat, { name })}
      confirmLabel={texts.revokeSubmit}
      onClose={onClose}
      onConfirm={async () => {
        await request("DELETE", toPath(toPortalPath("/keys"), apiKey.id))
        showToast(fill(texts.revoked, { name }))
        onDone()
      }}
    >
      <p>{texts.revokeHint}</p>
      <p>
        <code>{apiKey.key}</code>
      </p>
    </ConfirmDialog>
  )
}
