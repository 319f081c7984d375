import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const ConsumerPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Consumer ${Object.values(params).at(-1)}`} />
)
