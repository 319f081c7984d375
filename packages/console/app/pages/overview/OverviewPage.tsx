import "../../styles/overview.css"
import { Select } from "@tollgate/ui/components/fields.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useState } from "preact/hooks"
import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"
import { address, linkTo, setQuery } from "../../routing/router.ts"
import { may } from "../../session/session.ts"
import { RecentEvents } from "../events/RecentEvents.tsx"
import { outcomePeriods, parsePeriod } from "../refusals/outcomes.ts"
import { ChangeList } from "./ChangeList.tsx"
import { CustomerOverview } from "./CustomerOverview.tsx"
import { DemoOffer, isDemoOffered } from "./DemoOffer.tsx"
import { FailureList } from "./FailureList.tsx"
import { FirstSteps } from "./FirstSteps.tsx"
import { InventoryCards } from "./InventoryCards.tsx"
import { isEmpty, loadInventory } from "./inventory.ts"
import { RequestOverview } from "./RequestOverview.tsx"
import { getUsageDays, UsageOverview } from "./UsageOverview.tsx"

export const OverviewPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "" } = params
  const [revision, setRevision] = useState(0)
  const inventoryQuery = useQuery(`inventory ${account} ${revision}`, (signal) => loadInventory(account, signal))
  const period = parsePeriod(address.value.query["period"])
  return (
    <>
      <PageHeader title="Overview">
        <Select
          label="Period"
          value={period.value}
          onChange={(period) => setQuery({ period })}
          options={outcomePeriods}
        />
      </PageHeader>
      <QueryView query={inventoryQuery}>
        {(inventory) => (
          <>
            {isDemoOffered(inventory) && <DemoOffer onFilled={() => setRevision(revision + 1)} />}
            {isEmpty(inventory) ? (
              <FirstSteps account={account} inventory={inventory} />
            ) : (
              <>
                <InventoryCards account={account} inventory={inventory} />
                {inventory.keyBuckets.total > 0 && may("decisions:read") && (
                  <RequestOverview account={account} buckets={inventory.keyBuckets.first} period={period} />
                )}
                {inventory.meteringBuckets.total > 0 && (
                  <>
                    <CustomerOverview account={account} buckets={inventory.meteringBuckets.first} />
                    <Section title={`Usage of the last ${getUsageDays(period)} days`}>
                      <UsageOverview buckets={inventory.meteringBuckets.first} period={period} />
                    </Section>
                  </>
                )}
                <Section title="What failed lately">
                  <FailureList account={account} inventory={inventory} />
                </Section>
              </>
            )}
            <Section title="Latest changes by people">
              <ChangeList account={account} />
            </Section>
            <Section title="Latest events" actions={<a href={linkTo(["accounts", account, "events"])}>All events</a>}>
              <RecentEvents account={account} />
            </Section>
          </>
        )}
      </QueryView>
    </>
  )
}
