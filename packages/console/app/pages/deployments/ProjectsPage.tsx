import { useState } from "preact/hooks"
import { ApiError } from "../../api/ApiError.ts"
import { get, toPath } from "../../api/request.ts"
import type { NamedJson, PageJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { EmptyState } from "../../components/EmptyState.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { Pager } from "../../components/Pager.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Section } from "../../components/Section.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { useFormerData } from "../../data/useFormerData.ts"
import { useQuery } from "../../data/useQuery.ts"
import type { PageParams } from "../../routing/pages.ts"
import { address, linkTo, setQuery } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { NewProject } from "./NewProject.tsx"
import { NotConfigured } from "./NotConfigured.tsx"
import "../../styles/activity.css"

const limit = 50

/** The list of projects works without the option `deployments`; the list of any project's deployments does not. */
const checkConfigured = async (root: string, signal: AbortSignal): Promise<boolean> => {
  try {
    await get(toPath(root, "console", "deployments"), { limit: 1 }, signal)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.problem.code === "deployments-not-configured") return false
    throw error
  }
}

const ProjectTable = ({ account, projects }: { readonly account: string; readonly projects: PageJson<NamedJson> }) => (
  <>
    <Table
      caption="Projects"
      rows={projects.data}
      getKey={({ name }) => name}
      columns={[
        {
          title: "Name",
          render: ({ name }) => <a href={linkTo(["accounts", account, "deployments", name])}>{name}</a>
        },
        { title: "Since", render: ({ createdOn }) => <Time value={createdOn} /> }
      ]}
    />
    <Pager
      {...projects}
      shown={projects.data.length}
      limit={limit}
      onChange={(offset) => setQuery({ offset: offset || undefined })}
    />
  </>
)

/** The projects of an account. */
export const ProjectsPage = ({ params }: { readonly params: PageParams }) => {
  const account = params["account"] ?? ""
  const offset = Number(address.value.query["offset"] ?? 0)
  const [isCreating, setIsCreating] = useState(false)
  const root = toPath("/v1/accounts", account, "projects")
  const projects = useFormerData(
    useQuery(`${root} ${offset}`, async (signal) => {
      const [page, isConfigured] = await Promise.all([
        get<PageJson<NamedJson>>(root, { limit, offset }, signal),
        checkConfigured(root, signal)
      ])
      return { page, isConfigured }
    })
  )
  const canCreate = canWrite.value && projects.data?.isConfigured === true
  const isNewShown = canCreate && (isCreating || projects.data?.page.total === 0)
  return (
    <>
      <PageHeader title="Deployments">
        {canCreate && !isNewShown && (
          <Button kind="primary" onClick={() => setIsCreating(true)}>
            New project
          </Button>
        )}
      </PageHeader>
      <QueryView query={projects}>
        {({ page, isConfigured }) => (
          <>
            {!isConfigured && <NotConfigured />}
            {isConfigured && page.total === 0 && (
              <EmptyState title="There is no project yet">
                <p>
                  A project has one deployment for each of its branches: a site that this server serves. The first
                  upload adds the project.
                </p>
              </EmptyState>
            )}
            {page.total > 0 && <ProjectTable account={account} projects={page} />}
          </>
        )}
      </QueryView>
      {/* Outside of the list, so that an upload goes on while the list is loaded again. */}
      {(isNewShown || isCreating) && canCreate && (
        <Section title="New project">
          <NewProject
            account={account}
            onReceived={() => {
              setIsCreating(true)
              projects.reload()
            }}
          />
        </Section>
      )}
    </>
  )
}
