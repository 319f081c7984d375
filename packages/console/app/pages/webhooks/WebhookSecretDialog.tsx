import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { SecretDialog } from "@tollgate/ui/components/SecretDialog.tsx"

export interface WebhookSecretDialogProps {
  readonly title: string
  readonly secret: string
  /** Whether it replaces another one. */
  readonly isRotated: boolean
  readonly onClose: () => void
}

/** Shows the secret of a webhook, once. */
export const WebhookSecretDialog = ({ title, secret, isRotated, onClose }: WebhookSecretDialogProps) => (
  <SecretDialog title={title} secrets={[{ label: "Secret", value: secret }]} onClose={onClose}>
    <p>Your endpoint verifies the signature of each request with this secret. Copy it now: it is never shown again.</p>
    {isRotated && (
      <Notice>
        For 24 hours requests are signed with the new and the former secret, so that you can replace it without a gap.
      </Notice>
    )}
  </SecretDialog>
)
