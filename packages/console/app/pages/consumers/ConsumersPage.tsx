import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const ConsumersPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Consumers ${Object.values(params).at(-1)}`} />
)
