import { type Reply, request } from "@tollgate/ui/api/request.ts"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useIdempotencyKey } from "@tollgate/ui/data/useIdempotencyKey.ts"
import { useState } from "preact/hooks"
import type { WebhookJson } from "../../api/types.ts"
import { goTo, linkTo } from "../../routing/router.ts"
import { EditWebhookDialog } from "./EditWebhookDialog.tsx"
import { WebhookSecretDialog } from "./WebhookSecretDialog.tsx"

export type WebhookDialog = "edit" | "rotate" | "remove"

export interface WebhookDialogsProps {
  readonly account: string
  readonly path: string
  readonly webhook: Reply<WebhookJson>
  readonly dialog: WebhookDialog | undefined
  readonly onChanged: () => void
  readonly onClose: () => void
}

export const WebhookDialogs = ({ account, path, webhook, dialog, onChanged, onClose }: WebhookDialogsProps) => {
  const [secret, setSecret] = useState<string>()
  const [rotations, setRotations] = useState(0)
  const getIdempotencyKey = useIdempotencyKey()
  return (
    <>
      {dialog === "edit" && (
        <EditWebhookDialog
          path={path}
          webhook={webhook}
          onSaved={() => {
            onClose()
            onChanged()
            showToast("The webhook was saved")
          }}
          onClose={onClose}
        />
      )}
      {dialog === "rotate" && (
        <ConfirmDialog
          title="Rotate the secret"
          confirmLabel="Rotate secret"
          onConfirm={async () => {
            const { value } = await request<{ readonly secret: string }>("POST", `${path}/rotate-secret`, {
              // The same key until it has succeeded: a lost response does not lose the secret.
              idempotencyKey: getIdempotencyKey(rotations)
            })
            setRotations((rotations) => rotations + 1)
            setSecret(value.secret)
            onChanged()
          }}
          onClose={onClose}
        >
          <p>
            Tollgate makes a new secret and shows it once. For 24 hours requests are signed with both; after that, an
            endpoint that only knows the former one rejects them.
          </p>
        </ConfirmDialog>
      )}
      {secret !== undefined && (
        <WebhookSecretDialog title="The new secret" secret={secret} isRotated onClose={() => setSecret(undefined)} />
      )}
      {dialog === "remove" && (
        <ConfirmDialog
          title="Remove this webhook"
          confirmLabel="Remove webhook"
          onConfirm={async () => {
            await request("DELETE", path)
            showToast("The webhook was removed")
            goTo(linkTo(["accounts", account, "webhooks"]))
          }}
          onClose={onClose}
        >
          <p>
            Nothing more is sent to {webhook.value.url}, and its deliveries are deleted. This cannot be undone; to pause
            it, disable it instead.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
