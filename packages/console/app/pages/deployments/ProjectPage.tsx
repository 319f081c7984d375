import { get, toPath } from "../../api/request.ts"
import type { DeploymentJson, PageJson } from "../../api/types.ts"
import { EmptyState } from "../../components/EmptyState.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { Pager } from "../../components/Pager.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Section } from "../../components/Section.tsx"
import { useQuery } from "../../data/useQuery.ts"
import type { PageParams } from "../../routing/pages.ts"
import { address, linkTo, setQuery } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { useInterval } from "../../timing/useInterval.ts"
import { DeploymentTable } from "./DeploymentTable.tsx"
import { DeployPanel } from "./DeployPanel.tsx"
import { NotConfigured } from "./NotConfigured.tsx"
import "../../styles/activity.css"

const limit = 20
const refreshIntervalMs = 15_000

/** The deployments of a project, one for each branch, and where to upload another version. */
export const ProjectPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "", project = "" } = params
  const offset = Number(address.value.query["offset"] ?? 0)
  const path = toPath("/v1/accounts", account, "projects", project, "deployments")
  const deployments = useQuery(`${path} ${offset}`, (signal) =>
    get<PageJson<DeploymentJson>>(path, { limit, offset }, signal)
  )
  useInterval(deployments.refresh, refreshIntervalMs)
  const isConfigured = deployments.problem?.code !== "deployments-not-configured"
  return (
    <>
      <PageHeader
        title={`Project ${project}`}
        parents={[{ label: "Deployments", link: linkTo(["accounts", account, "deployments"]) }]}
      />
      {isConfigured ? (
        <QueryView query={deployments}>
          {({ data, total }) =>
            total === 0 ? (
              <EmptyState title="This project has no deployment">
                <p>
                  {canWrite.value ? "Upload the first version of a branch below." : "Nothing has been uploaded yet."}
                </p>
              </EmptyState>
            ) : (
              <>
                <DeploymentTable deployments={data} />
                <Pager
                  offset={offset}
                  limit={limit}
                  total={total}
                  shown={data.length}
                  onChange={(offset) => setQuery({ offset: offset || undefined })}
                />
              </>
            )
          }
        </QueryView>
      ) : (
        <NotConfigured />
      )}
      {canWrite.value && isConfigured && (
        <Section title="Deploy a version">
          <DeployPanel
            account={account}
            getProject={() => project}
            initialBranch={address.value.query["branch"] ?? "main"}
            onChange={deployments.reload}
          />
        </Section>
      )}
    </>
  )
}
