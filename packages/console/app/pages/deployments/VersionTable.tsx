import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Table } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { formatBytes } from "@tollgate/ui/format/numbers.ts"
import type { ComponentChildren } from "preact"
import { RunBadge } from "./deploymentBadges.tsx"
import type { DeploymentVersionJson } from "./types.ts"

export interface VersionTableProps {
  /** Newest first. */
  readonly versions: ReadonlyArray<DeploymentVersionJson>
  /** What can be done with a version, if anything. */
  readonly renderAction?: ((version: DeploymentVersionJson) => ComponentChildren) | undefined
}

/** The versions of a deployment. */
export const VersionTable = ({ versions, renderAction }: VersionTableProps) => (
  <Table
    caption="Versions of this deployment"
    rows={versions}
    getKey={({ id }) => id}
    columns={[
      {
        title: "Received",
        render: ({ createdOn, isServed, isKept, url }) => (
          <>
            <Time value={createdOn} /> {isServed && <Badge tone="good">served</Badge>}
            {isKept && !isServed && <Badge>kept</Badge>}
            {url !== undefined && (
              <>
                {" "}
                <a href={url} target="_blank" rel="noopener noreferrer">
                  Open
                </a>
              </>
            )}
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
      { title: "Id", render: ({ id }) => <code>{id}</code> },
      ...(renderAction === undefined ? [] : [{ title: "Actions", render: renderAction }])
    ]}
  />
)
