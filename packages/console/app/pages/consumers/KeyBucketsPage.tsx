import { get, toPath } from "../../api/request.ts"
import type { NamedJson, PageJson } from "../../api/types.ts"
import { EmptyState } from "../../components/EmptyState.tsx"
import { PageHeader } from "../../components/PageHeader.tsx"
import { Pager } from "../../components/Pager.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { useFormerData } from "../../data/useFormerData.ts"
import { useQuery } from "../../data/useQuery.ts"
import type { PageParams } from "../../routing/pages.ts"
import { parseOffset } from "../../routing/parseOffset.ts"
import { address, setQuery } from "../../routing/router.ts"
import { OpenBucketForm } from "./OpenBucketForm.tsx"
import { linkToBucket } from "./paths.ts"

const limit = 50

/** The key buckets of an account. */
export const KeyBucketsPage = ({ params }: { readonly params: PageParams }) => {
  const { account = "" } = params
  const offset = parseOffset(address.value.query["offset"])
  const buckets = useFormerData(
    useQuery(`key buckets ${account} ${offset}`, (signal) =>
      get<PageJson<NamedJson>>(toPath("/v1/accounts", account, "key-buckets"), { limit, offset }, signal)
    )
  )
  return (
    <>
      <PageHeader title="Consumers" />
      <QueryView query={buckets}>
        {({ data, total }) =>
          total === 0 ? (
            <EmptyState title="There is no key bucket yet">
              <p>
                A key bucket holds the consumers of one environment or one API, such as “production”. It exists as soon
                as you create its first consumer. Name yours:
              </p>
              <OpenBucketForm account={account} />
            </EmptyState>
          ) : (
            <>
              <p class="hint">Consumers and their keys are in key buckets.</p>
              <Table
                caption="Key buckets"
                rows={data}
                getKey={({ name }) => name}
                columns={[
                  {
                    title: "Key bucket",
                    render: ({ name }) => <a href={linkToBucket({ account, bucket: name })}>{name}</a>
                  },
                  { title: "Since", render: ({ createdOn }) => <Time value={createdOn} /> }
                ]}
              />
              <Pager
                offset={offset}
                limit={limit}
                total={total}
                shown={data.length}
                onChange={(offset) => setQuery({ offset: offset || undefined })}
              />
              <OpenBucketForm account={account} />
            </>
          )
        }
      </QueryView>
    </>
  )
}
