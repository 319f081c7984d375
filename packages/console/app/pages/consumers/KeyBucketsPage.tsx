import { toPath } from "@tollgate/ui/api/request.ts"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useEffect } from "preact/hooks"
import type { NamedJson } from "../../api/types.ts"
import { PagedTable } from "../../components/PagedTable.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { useList } from "../../data/useList.ts"
import type { PageParams } from "../../routing/pages.ts"
import { address, replaceAddress } from "../../routing/router.ts"
import { OpenBucketForm } from "./OpenBucketForm.tsx"
import { linkToBucket } from "./paths.ts"

/** The key buckets of an account. If there is only one, it is opened instead. */
export const KeyBucketsPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "" } = params
  const buckets = useList<NamedJson>(toPath("/v1/accounts", account, "key-buckets"))
  const isOnlyOne = buckets.data?.total === 1 && address.value.query["all"] === undefined
  const only = isOnlyOne ? buckets.data?.data[0] : undefined
  useEffect(() => {
    if (only !== undefined) replaceAddress(linkToBucket({ account, bucket: only.name }))
  }, [only?.name])
  return (
    <>
      <PageHeader title="Consumers" />
      <PagedTable
        list={buckets}
        caption="APIs"
        getKey={({ name }) => name}
        empty={
          <EmptyState title="There is no API yet">
            <p>
              The consumers of one API or one environment of it, such as “production”, are together: programs call it a
              key bucket. It exists as soon as you create its first consumer. Name yours:
            </p>
            <OpenBucketForm account={account} />
          </EmptyState>
        }
        columns={[
          { title: "API", render: ({ name }) => <a href={linkToBucket({ account, bucket: name })}>{name}</a> },
          { title: "Since", render: ({ createdOn }) => <Time value={createdOn} /> }
        ]}
        footer={() => (
          <>
            <p class="hint">Each API has consumers of its own.</p>
            <OpenBucketForm account={account} />
          </>
        )}
      />
    </>
  )
}
