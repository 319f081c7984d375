import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const EventsPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Events ${Object.values(params).at(-1)}`} />
)
