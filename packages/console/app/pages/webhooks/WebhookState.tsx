import { Badge } from "@tollgate/ui/components/Badge.tsx"
import type { WebhookJson } from "../../api/types.ts"

export const WebhookState = ({ webhook }: { readonly webhook: WebhookJson }) => (
  <>
    <Badge tone={webhook.state === "enabled" ? "good" : "warning"}>{webhook.state}</Badge>
    {webhook.disabledReason !== undefined && <span class="hint"> {webhook.disabledReason}</span>}
  </>
)
