import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const WebhooksPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Webhooks ${Object.values(params).at(-1)}`} />
)
