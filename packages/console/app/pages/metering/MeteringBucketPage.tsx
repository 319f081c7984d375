import "../../styles/metering.css"
import { get } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Tabs } from "@tollgate/ui/components/Tabs.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useState } from "preact/hooks"
import type { MeteringBucketJson } from "../../api/types.ts"
import { PageHeader } from "../../components/PageHeader.tsx"
import type { PageParams } from "../../routing/pages.ts"
import { address } from "../../routing/router.ts"
import { may } from "../../session/session.ts"
import { BucketUsage } from "./BucketUsage.tsx"
import { linkToBucket, linkToBuckets, toBucketPath } from "./meteringAddresses.ts"
import { PlanList } from "./PlanList.tsx"
import { RemoveBucketDialog } from "./RemoveBucketDialog.tsx"
import { SubscriptionList } from "./SubscriptionList.tsx"

const tabs = [
  { name: "plans", label: "Plans", Content: PlanList },
  { name: "subscriptions", label: "Subscriptions", Content: SubscriptionList },
  { name: "usage", label: "Usage", Content: BucketUsage }
] as const

export const MeteringBucketPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "", bucket = "" } = params
  const [isRemoving, setIsRemoving] = useState(false)
  const current = tabs.find(({ name }) => name === address.value.query["tab"]) ?? tabs[0]
  const found = useQuery(`metering bucket ${bucket}`, (signal) =>
    get<MeteringBucketJson>(toBucketPath(bucket), {}, signal)
  )
  return (
    <>
      <PageHeader
        title={found.data?.name ?? bucket}
        parents={[{ label: "Plans and usage", link: linkToBuckets(account) }]}
      >
        {may("metering:write") && found.data !== undefined && (
          <Button kind="destructive" onClick={() => setIsRemoving(true)}>
            Remove
          </Button>
        )}
      </PageHeader>
      <QueryView query={found}>
        {() => (
          <>
            <Tabs
              label="Parts of the metering bucket"
              tabs={tabs.map((tab) => ({
                label: tab.label,
                link: linkToBucket(account, bucket, { tab: tab.name }),
                isCurrent: tab === current
              }))}
            />
            <current.Content account={account} bucket={bucket} />
          </>
        )}
      </QueryView>
      {isRemoving && found.data !== undefined && (
        <RemoveBucketDialog account={account} bucket={found.data} onClose={() => setIsRemoving(false)} />
      )}
    </>
  )
}
