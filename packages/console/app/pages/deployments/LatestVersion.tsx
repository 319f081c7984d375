import { get, toPath } from "@tollgate/ui/api/request.ts"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { formatBytes } from "@tollgate/ui/format/numbers.ts"
import type { PageJson } from "../../api/types.ts"
import { RunBadge } from "./deploymentBadges.tsx"
import type { DeploymentVersionJson } from "./types.ts"

/** The result of the latest run of a deployment, and the version that is served. */
export const LatestVersion = ({ name, revision }: { readonly name: string; readonly revision: string }) => {
  const path = toPath("/v1/deployments", name, "versions")
  const versions = useQuery(`${path} ${revision}`, (signal) => get<PageJson<DeploymentVersionJson>>(path, {}, signal))
  if (versions.data === undefined) return <span class="hint">{versions.problem?.title ?? "…"}</span>
  const [latest] = versions.data.data
  const served = versions.data.data.find(({ isServed }) => isServed)
  return (
    <div class="latest-version">
      {latest !== undefined && (
        <span>
          Last run: <RunBadge status={latest.status} />
        </span>
      )}
      <span class="hint">
        {served === undefined ? (
          "No version is served"
        ) : (
          <>
            Served: version of <Time value={served.createdOn} />
            {served.bytes !== undefined && `, ${formatBytes(served.bytes)}`}
          </>
        )}
      </span>
    </div>
  )
}
