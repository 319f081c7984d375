import type { DeploymentJson } from "../../api/types.ts"
import { Badge } from "../../components/Badge.tsx"
import { ExternalLink } from "../../components/ExternalLink.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { linkTo } from "../../routing/router.ts"
import { StateBadge } from "./deploymentBadges.tsx"
import { LatestVersion } from "./LatestVersion.tsx"

/** The branches of a project. */
export const DeploymentTable = ({ deployments }: { readonly deployments: ReadonlyArray<DeploymentJson> }) => (
  <Table
    caption="Deployments"
    rows={deployments}
    getKey={({ name }) => name}
    columns={[
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
    ]}
  />
)
