import { Button } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useEffect, useState } from "preact/hooks"
import type { MeteringBucketJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { useList } from "../../data/useList.ts"
import type { PageParams } from "../../routing/pages.ts"
import { address, replaceAddress } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { CreateBucketDialog } from "./CreateBucketDialog.tsx"
import { linkToBucket } from "./meteringAddresses.ts"

/** The metering buckets of an account. If there is only one, it is opened instead. */
export const MeteringBucketsPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "" } = params
  const [isCreating, setIsCreating] = useState(false)
  const buckets = useList<MeteringBucketJson>("/v1/metering", { accountName: account })
  const [only] = buckets.data?.total === 1 && address.value.query["all"] === undefined ? buckets.data.data : []
  useEffect(() => {
    if (only !== undefined) replaceAddress(linkToBucket(account, only.id))
  }, [only?.id])
  const createButton = (
    <Button kind="primary" onClick={() => setIsCreating(true)}>
      Create metering bucket
    </Button>
  )
  return (
    <>
      <PageHeader title="Plans and usage">{canWrite.value && createButton}</PageHeader>
      <PagedTable
        list={buckets}
        caption="Metering buckets"
        getKey={({ id }) => id}
        empty={
          <EmptyState title="There is no metering bucket yet">
            <p>
              A metering bucket holds plans, the subscriptions of your customers, and what they used. Most accounts need
              one.
            </p>
          </EmptyState>
        }
        columns={[
          {
            title: "Name",
            render: (bucket) => <a href={linkToBucket(account, bucket.id)}>{bucket.name ?? bucket.id}</a>
          },
          { title: "Id", render: ({ id }) => <code>{id}</code> },
          { title: "Created", render: ({ createdOn }) => <Time value={createdOn} /> }
        ]}
      />
      {isCreating && <CreateBucketDialog account={account} onClose={() => setIsCreating(false)} />}
    </>
  )
}
