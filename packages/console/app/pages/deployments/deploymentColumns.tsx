import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { ExternalLink } from "@tollgate/ui/components/ExternalLink.tsx"
import type { Column } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import type { DeploymentJson } from "../../api/types.ts"
import { linkTo } from "../../routing/router.ts"
import { StateBadge } from "./deploymentBadges.tsx"
import { LatestVersion } from "./LatestVersion.tsx"

/** The branches of a project. */
export const deploymentColumns: ReadonlyArray<Column<DeploymentJson>> = [
  {
    title: "Branch",
    render: ({ accountName, projectName, name, branchName, environmentType }) => (
      <>
        <a href={linkTo(["accounts", accountName, "deployments", projectName, name])}>{branchName}</a>{" "}
        {environmentType === "PRODUCTION" && <Badge>production</Badge>}
      </>
    )
  },
  { title: "State", render: ({ state }) => <StateBadge state={state} /> },
  {
    title: "Versions",
    render: ({ name, updatedOn, state, message }) => (
      <LatestVersion name={name} revision={`${updatedOn} ${state} ${message}`} />
    )
  },
  { title: "Address", render: ({ url }) => <ExternalLink url={url} /> },
  { title: "Changed", render: ({ updatedOn }) => <Time value={updatedOn} /> }
]
