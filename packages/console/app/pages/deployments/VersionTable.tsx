import { Badge } from "../../components/Badge.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { formatBytes } from "../../format/numbers.ts"
import { RunBadge } from "./deploymentBadges.tsx"
import type { DeploymentVersionJson } from "./types.ts"

/** The versions of a deployment, newest first. */
export const VersionTable = ({ versions }: { readonly versions: ReadonlyArray<DeploymentVersionJson> }) => (
  <Table
    caption="Versions of this deployment"
    rows={versions}
    getKey={({ id }) => id}
    columns={[
      {
        title: "Received",
        render: ({ createdOn, isServed }) => (
          <>
            <Time value={createdOn} /> {isServed && <Badge tone="good">served</Badge>}
          </>
        )
      },
      { title: "Run", render: ({ status }) => <RunBadge status={status} /> },
      {
        title: "Size",
        align: "right",
        render: ({ bytes }) => (bytes === undefined ? "unknown" : formatBytes(bytes))
      },
      {
        title: "SHA-256 of the source",
        render: ({ digest }) => (digest === undefined ? "unknown" : <code title={digest}>{digest.slice(0, 16)}…</code>)
      },
      { title: "Id", render: ({ id }) => <code>{id}</code> }
    ]}
  />
)
