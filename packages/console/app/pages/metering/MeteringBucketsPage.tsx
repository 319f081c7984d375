import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const MeteringBucketsPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Metering ${Object.values(params).at(-1)}`} />
)
