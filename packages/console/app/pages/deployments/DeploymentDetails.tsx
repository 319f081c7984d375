import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { CopyButton } from "@tollgate/ui/components/CopyButton.tsx"
import { DefinitionList } from "@tollgate/ui/components/DefinitionList.tsx"
import { ExternalLink } from "@tollgate/ui/components/ExternalLink.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import type { DeploymentJson } from "../../api/types.ts"
import { linkTo } from "../../routing/router.ts"
import { StateBadge } from "./deploymentBadges.tsx"

const messages: Readonly<Record<DeploymentJson["message"], string | undefined>> = {
  "": undefined,
  "source-rejected": "The source was rejected.",
  "build-failed": "The build failed.",
  "check-failed": "The check failed.",
  "publish-failed": "Publishing failed.",
  interrupted: "The run was interrupted twice, or took more than an hour."
}

export const DeploymentDetails = ({ deployment }: { readonly deployment: DeploymentJson }) => (
  <DefinitionList
    items={[
      [
        "Address",
        <>
          <ExternalLink url={deployment.url} /> <CopyButton text={deployment.url} label="Copy the address" />
        </>
      ],
      ["Branch", deployment.branchName],
      [
        "State",
        <>
          <StateBadge state={deployment.state} />{" "}
          <Badge>{deployment.environmentType === "PRODUCTION" ? "production" : "preview"}</Badge>
          {deployment.isPinned && (
            <>
              {" "}
              <Badge tone="warning">pinned</Badge>
            </>
          )}
        </>
      ],
      ["Last run", messages[deployment.message]],
      ["Name", <code key="name">{deployment.name}</code>],
      ["Id in logs", <code key="loggingId">{deployment.loggingId}</code>],
      ["Created", <Time key="created" value={deployment.createdOn} />],
      ["Changed", <Time key="changed" value={deployment.updatedOn} />],
      [
        "Events",
        <a key="events" href={linkTo(["accounts", deployment.accountName, "events"], { subject: deployment.name })}>
          Events of this deployment
        </a>
      ]
    ]}
  />
)
