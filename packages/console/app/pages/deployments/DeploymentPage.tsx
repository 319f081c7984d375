import { get, request, toPath } from "@tollgate/ui/api/request.ts"
import { Button, LinkButton } from "@tollgate/ui/components/Button.tsx"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useState } from "preact/hooks"
import type { DeploymentJson, PageJson } from "../../api/types.ts"
import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"
import { goTo, linkTo } from "../../routing/router.ts"
import { canWrite, may } from "../../session/session.ts"
import { DeploymentDetails } from "./DeploymentDetails.tsx"
import { RunView } from "./RunView.tsx"
import { ServeVersion } from "./ServeVersion.tsx"
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
            <Button kind="destructive" onClick={() => setIsRemoving(true)}>
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
                {deployment.isPinned && (
                  <p class="hint">This deployment is pinned: new versions wait until you promote one.</p>
                )}
                <VersionTable
                  versions={versions}
                  renderAction={
                    may("deployments:write")
                      ? (version) => (
                          <ServeVersion
                            deployment={deployment}
                            version={version}
                            versions={versions}
                            path={path}
                            onServed={() => {
                              setRuns((runs) => runs + 1)
                              query.reload()
                            }}
                          />
                        )
                      : undefined
                  }
                />
                <p class="hint">
                  The last ten versions are listed, and those that are kept. Redeploying runs the source of the newest
                  one again.
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
