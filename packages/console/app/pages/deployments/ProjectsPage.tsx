import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const ProjectsPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Deployments ${Object.values(params).at(-1)}`} />
)
