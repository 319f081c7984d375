import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const OverviewPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Overview ${Object.values(params).at(-1)}`} />
)
