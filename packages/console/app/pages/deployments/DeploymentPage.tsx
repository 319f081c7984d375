import { useState } from "preact/hooks"
import { get, request, toPath } from "../../api/request.ts"
import type { DeploymentJson, PageJson } from "../../api/types.ts"
import { Button, LinkButton } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { EmptyState } from "../../components/EmptyState.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { ProblemNotice } from "../../components/ProblemNotice.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Section } from "../../components/Section.tsx"
import { showToast } from "../../components/toasts.tsx"
import { useAction } from "../../data/useAction.ts"
import { useQuery } from "../../data/useQuery.ts"
import type { PageParams } from "../../routing/pages.ts"
import { goTo, linkTo } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { DeploymentDetails } from "./DeploymentDetails.tsx"
import { RunView } from "./RunView.tsx"
import type { DeploymentVersionJson } from "./types.ts"
import { VersionTable } from "./VersionTable.tsx"
import "../../styles/activity.css"

/** One branch of a project: what is served, its versions, and the latest run. */
export const DeploymentPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "", project = "", deployment: name = "" } = params
  const [isRemoving, setIsRemoving] = useState(false)
  const [runs, setRuns] = useState(0)
  const path = toPath("/v1/deployments", name)
  const query = useQuery(path, async (signal) => {
    const [deployment, versions] = await Promise.all([
      get<DeploymentJson>(path, {}, signal),
      get<PageJson<DeploymentVersionJson>>(`${path}/versions`, {}, signal)
    ])
    return { deployment, versions: versions.data }
  })
  const redeploy = useAction(async () => {
    const { value } = await request<{ readonly status: string }>("POST", `${path}/deploy`)
    showToast(value.status === "already in progress" ? "A run is already in progress" : "Deploying the latest source")
    setRuns((runs) => runs + 1)
    query.reload()
  })
  const projectLink = linkTo(["accounts", account, "deployments", project])
  const deployment = query.data?.deployment
  const isElsewhere =
    deployment !== undefined && (deployment.accountName !== account || deployment.projectName !== project)
  return (
    <>
      <PageHeader
        title={deployment === undefined ? name : `Branch ${deployment.branchName}`}
        parents={[
          { label: "Deployments", link: linkTo(["accounts", account, "deployments"]) },
          { label: project, link: projectLink }
        ]}
      >
        {canWrite.value && deployment !== undefined && !isElsewhere && (
          <>
            <Button onClick={() => void redeploy.run()} isBusy={redeploy.isRunning}>
              Redeploy
            </Button>
            <LinkButton href={linkTo(["accounts", account, "deployments", project], { branch: deployment.branchName })}>
              Upload a new version
            </LinkButton>
            <Button kind="danger" onClick={() => setIsRemoving(true)}>
              Remove
            </Button>
          </>
        )}
      </PageHeader>
      {redeploy.problem !== undefined && <ProblemNotice problem={redeploy.problem} />}
      <QueryView query={query}>
        {({ deployment, versions }) =>
          isElsewhere ? (
            <EmptyState title="This deployment belongs to another project">
              <a href={linkTo(["accounts", deployment.accountName, "deployments", deployment.projectName, name])}>
                Open it in {deployment.accountName} / {deployment.projectName}
              </a>
            </EmptyState>
          ) : (
            <>
              <DeploymentDetails deployment={deployment} />
              {versions[0] !== undefined && (
                <Section title="Latest run">
                  <RunView
                    key={`${versions[0].id} ${runs}`}
                    account={account}
                    project={project}
                    statusId={versions[0].id}
                    isAddressShown={false}
                    onFinished={query.reload}
                  />
                </Section>
              )}
              <Section title="Versions">
                <VersionTable versions={versions} />
                <p class="hint">
                  The last ten versions are listed. Redeploying runs the source of the newest one again.
                </p>
              </Section>
            </>
          )
        }
      </QueryView>
      {isRemoving && deployment !== undefined && (
        <ConfirmDialog
          title="Remove this deployment"
          confirmLabel="Remove deployment"
          nameToType={name}
          onConfirm={async () => {
            await request("DELETE", path)
            showToast(`${name} was removed`)
            goTo(projectLink)
          }}
          onClose={() => setIsRemoving(false)}
        >
          <p>
            {deployment.url} stops being served, and all versions, their sources and logs are deleted. This cannot be
            undone.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
