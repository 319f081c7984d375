import { toPath } from "@tollgate/ui/api/request.ts"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { useInterval } from "@tollgate/ui/data/useInterval.ts"
import type { DeploymentJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { useList } from "../../data/useList.ts"
import type { PageParams } from "../../routing/pages.ts"
import { address, linkTo } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { DeployPanel } from "./DeployPanel.tsx"
import { deploymentColumns } from "./deploymentColumns.tsx"
import { NotConfigured } from "./NotConfigured.tsx"
import "../../styles/activity.css"

const refreshIntervalMs = 15_000

/** The deployments of a project, one for each branch, and where to upload another version. */
export const ProjectPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "", project = "" } = params
  const path = toPath("/v1/accounts", account, "projects", project, "deployments")
  const deployments = useList<DeploymentJson>(path, {}, { limit: 20 })
  useInterval(deployments.refresh, refreshIntervalMs)
  const isConfigured = deployments.problem?.status !== 404
  return (
    <>
      <PageHeader
        title={`Project ${project}`}
        parents={[{ label: "Deployments", link: linkTo(["accounts", account, "deployments"]) }]}
      />
      {isConfigured ? (
        <PagedTable
          list={deployments}
          caption="Deployments"
          columns={deploymentColumns}
          getKey={({ name }) => name}
          empty={
            <EmptyState title="This project has no deployment">
              <p>{canWrite.value ? "Upload the first version of a branch below." : "Nothing has been uploaded yet."}</p>
            </EmptyState>
          }
        />
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
