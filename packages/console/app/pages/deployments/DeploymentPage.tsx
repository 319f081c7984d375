import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const DeploymentPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Deployment ${Object.values(params).at(-1)}`} />
)
