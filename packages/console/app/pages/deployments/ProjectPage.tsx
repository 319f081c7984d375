import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const ProjectPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Project ${Object.values(params).at(-1)}`} />
)
