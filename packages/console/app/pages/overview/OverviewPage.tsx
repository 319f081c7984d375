import "../../styles/overview.css"
import { PageHeader } from "../../components/PageHeader.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { RecentEvents } from "../../components/RecentEvents.tsx"
import { Section } from "../../components/Section.tsx"
import { useQuery } from "../../data/useQuery.ts"
import type { PageParams } from "../../routing/pages.ts"
import { linkTo } from "../../routing/router.ts"
import { FailureList } from "./FailureList.tsx"
import { FirstSteps } from "./FirstSteps.tsx"
import { InventoryCards } from "./InventoryCards.tsx"
import { isEmpty, loadInventory } from "./inventory.ts"
import { QuotaAlertList } from "./QuotaAlertList.tsx"
import { UsageOverview } from "./UsageOverview.tsx"

export const OverviewPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "" } = params
  const inventory = useQuery(`inventory ${account}`, (signal) => loadInventory(account, signal))
  return (
    <>
      <PageHeader title="Overview" />
      <QueryView query={inventory}>
        {(inventory) => (
          <>
            {isEmpty(inventory) ? (
              <FirstSteps account={account} />
            ) : (
              <>
                <InventoryCards account={account} inventory={inventory} />
                {inventory.meteringBuckets.total > 0 && (
                  <Section title="Usage of the last 30 days">
                    <UsageOverview buckets={inventory.meteringBuckets.first} />
                  </Section>
                )}
                <Section title="Quotas near their end">
                  <QuotaAlertList account={account} />
                </Section>
                <Section title="What failed lately">
                  <FailureList account={account} webhooks={inventory.webhooks.first} />
                </Section>
              </>
            )}
            <Section title="Latest events" actions={<a href={linkTo(["accounts", account, "events"])}>All events</a>}>
              <RecentEvents account={account} />
            </Section>
          </>
        )}
      </QueryView>
    </>
  )
}
