import { Badge } from "@tollgate/ui/components/Badge.tsx"
import type { DeploymentJson } from "../../api/types.ts"
import type { RunStatus } from "./types.ts"

const states = {
  PENDING: { text: "not served yet", tone: "warning" },
  STARTED: { text: "served", tone: "good" },
  ERRORED: { text: "failed", tone: "bad" }
} as const

const statuses = {
  IN_PROGRESS: { text: "in progress", tone: "warning" },
  SUCCESS: { text: "deployed", tone: "good" },
  ERROR: { text: "failed", tone: "bad" }
} as const

/** Whether the deployment is served. */
export const StateBadge = ({ state }: Pick<DeploymentJson, "state">) => (
  <Badge tone={states[state].tone}>{states[state].text}</Badge>
)

/** How the run of a version went. */
export const RunBadge = ({ status }: { readonly status: RunStatus }) => (
  <Badge tone={statuses[status].tone}>{statuses[status].text}</Badge>
)
