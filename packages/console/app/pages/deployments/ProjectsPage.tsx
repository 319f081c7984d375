import { toPath } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useState } from "preact/hooks"
import type { NamedJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { useList } from "../../data/useList.ts"
import type { PageParams } from "../../routing/pages.ts"
import { linkTo } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { NewProject } from "./NewProject.tsx"
import { NotConfigured } from "./NotConfigured.tsx"
import "../../styles/activity.css"

/** The projects of an account. */
export const ProjectsPage = ({ params }: { readonly params: PageParams }) => {
  const account = params["account"] ?? ""
  const [isCreating, setIsCreating] = useState(false)
  const root = toPath("/v1/accounts", account, "projects")
  const projects = useList<NamedJson>(root)
  const canCreate = canWrite.value && projects.data !== undefined
  const isNewShown = canCreate && (isCreating || projects.data?.total === 0)
  return (
    <>
      <PageHeader title="Deployments">
        {canCreate && !isNewShown && (
          <Button kind="primary" onClick={() => setIsCreating(true)}>
            New project
          </Button>
        )}
      </PageHeader>
      {projects.problem?.status === 404 ? (
        <NotConfigured />
      ) : (
        <PagedTable
          list={projects}
          caption="Projects"
          getKey={({ name }) => name}
          empty={
            <EmptyState title="There is no project yet">
              <p>
                A project has one deployment for each of its branches: a site that this server serves. The first upload
                adds the project.
              </p>
            </EmptyState>
          }
          columns={[
            {
              title: "Name",
              render: ({ name }) => <a href={linkTo(["accounts", account, "deployments", name])}>{name}</a>
            },
            { title: "Since", render: ({ createdOn }) => <Time value={createdOn} /> }
          ]}
        />
      )}
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
