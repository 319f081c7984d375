import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const PlanPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Plan ${Object.values(params).at(-1)}`} />
)
