import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"

export const SubscriptionPage = ({ params }: { readonly params: PageParams }) => (
  <PageHeader title={`Subscription ${Object.values(params).at(-1)}`} />
)
