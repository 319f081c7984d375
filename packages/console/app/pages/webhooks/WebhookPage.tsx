import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const WebhookPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Webhook ${Object.values(params).at(-1)}`} />
)
