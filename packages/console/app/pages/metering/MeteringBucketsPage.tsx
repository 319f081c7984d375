import { useState } from "preact/hooks"
import { get, request } from "../../api/request.ts"
import type { MeteringBucketJson, PageJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { EmptyState } from "../../components/EmptyState.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { Pager } from "../../components/Pager.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { showToast } from "../../components/toasts.tsx"
import { useQuery } from "../../data/useQuery.ts"
import type { PageParams } from "../../routing/pages.ts"
import { address, setQuery } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { CreateBucketDialog } from "./CreateBucketDialog.tsx"
import { linkToBucket, toBucketPath } from "./meteringAddresses.ts"

const limit = 50

const getName = ({ id, name }: MeteringBucketJson): string => name ?? id

const BucketTable = ({
  account,
  buckets,
  onRemove
}: {
  readonly account: string
  readonly buckets: ReadonlyArray<MeteringBucketJson>
  readonly onRemove: (bucket: MeteringBucketJson) => void
}) => (
  <Table
    caption="Metering buckets"
    rows={buckets}
    getKey={({ id }) => id}
    columns={[
      { title: "Name", render: (bucket) => <a href={linkToBucket(account, bucket.id)}>{getName(bucket)}</a> },
      { title: "Id", render: ({ id }) => <code>{id}</code> },
      { title: "Created", render: ({ createdOn }) => <Time value={createdOn} /> },
      ...(canWrite.value
        ? [
            {
              title: "Actions",
              render: (bucket: MeteringBucketJson) => (
                <Button isSmall label={`Remove ${getName(bucket)}`} onClick={() => onRemove(bucket)}>
                  Remove
                </Button>
              )
            }
          ]
        : [])
    ]}
  />
)

export const MeteringBucketsPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "" } = params
  const offset = Number(address.value.query["offset"] ?? 0)
  const [isCreating, setIsCreating] = useState(false)
  const [removed, setRemoved] = useState<MeteringBucketJson>()
  const buckets = useQuery(`metering buckets ${account} ${offset}`, (signal) =>
    get<PageJson<MeteringBucketJson>>("/v1/metering", { accountName: account, limit, offset }, signal)
  )
  const createButton = (
    <Button kind="primary" onClick={() => setIsCreating(true)}>
      Create metering bucket
    </Button>
  )
  return (
    <>
      <PageHeader title="Metering">{canWrite.value && createButton}</PageHeader>
      <QueryView query={buckets}>
        {({ data, total }) =>
          total === 0 ? (
            <EmptyState title="There is no metering bucket yet">
              <p>
                A metering bucket holds plans, the subscriptions of your customers, and what they used. Most accounts
                need one.
              </p>
            </EmptyState>
          ) : (
            <>
              <BucketTable account={account} buckets={data} onRemove={setRemoved} />
              <Pager
                offset={offset}
                limit={limit}
                total={total}
                shown={data.length}
                onChange={(offset) => setQuery({ offset: offset || undefined })}
              />
            </>
          )
        }
      </QueryView>
      {isCreating && <CreateBucketDialog account={account} onClose={() => setIsCreating(false)} />}
      {removed !== undefined && (
        <ConfirmDialog
          title={`Remove ${getName(removed)}?`}
          confirmLabel="Remove metering bucket"
          nameToType={getName(removed)}
          onConfirm={async () => {
            await request("DELETE", toBucketPath(removed.id))
            showToast(`${getName(removed)} was removed.`)
            buckets.reload()
          }}
          onClose={() => setRemoved(undefined)}
        >
          <p>
            All its plans, subscriptions and usage are removed with it, and requests that are metered with it are
            refused. This cannot be taken back.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
