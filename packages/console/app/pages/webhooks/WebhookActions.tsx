import { Button } from "@tollgate/ui/components/Button.tsx"
import type { WebhookJson } from "../../api/types.ts"

export interface WebhookActionsProps {
  readonly webhook: WebhookJson
  readonly isSending: boolean
  readonly onTest: () => void
  readonly onEdit: () => void
  readonly onToggle: () => void
  readonly onRotate: () => void
  readonly onRemove: () => void
}

export const WebhookActions = (props: WebhookActionsProps) => {
  const isEnabled = props.webhook.state === "enabled"
  return (
    <>
      {isEnabled && (
        <Button onClick={props.onTest} isBusy={props.isSending}>
          Send a test
        </Button>
      )}
      <Button onClick={props.onEdit}>Edit</Button>
      <Button onClick={props.onToggle}>{isEnabled ? "Disable" : "Enable"}</Button>
      <Button onClick={props.onRotate}>Rotate secret</Button>
      <Button kind="destructive" onClick={props.onRemove}>
        Remove
      </Button>
    </>
  )
}
