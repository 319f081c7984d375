import type { ConsumerJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { EmptyState } from "../../components/EmptyState.tsx"
import { Pager } from "../../components/Pager.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { type Column, Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { useFormerData } from "../../data/useFormerData.ts"
import { useQuery } from "../../data/useQuery.ts"
import { parseOffset } from "../../routing/parseOffset.ts"
import { address, setQuery } from "../../routing/router.ts"
import { canWrite } from "../../session/session.ts"
import { ConsumerFilters } from "./ConsumerFilters.tsx"
import { isFiltering, listConsumers, parseFilter } from "./consumerFilter.ts"
import { type BucketParams, linkToConsumer, toBucketPath } from "./paths.ts"
import { TagList } from "./TagList.tsx"

const limit = 50

export interface ConsumerListProps {
  readonly params: BucketParams
  readonly onCreate: () => void
}

const makeColumns = (params: BucketParams): ReadonlyArray<Column<ConsumerJson>> => [
  {
    title: "Name",
    render: ({ name }) => (
      <a class="consumer-name" href={linkToConsumer({ ...params, consumer: name })}>
        {name}
      </a>
    )
  },
  { title: "Description", render: ({ description }) => <span class="short-text">{description}</span> },
  { title: "Tags", render: ({ tags }) => <TagList params={params} tags={tags} /> },
  { title: "Created", render: ({ createdOn }) => <Time value={createdOn} /> }
]

const NoConsumers = ({ isFiltered, onCreate }: { readonly isFiltered: boolean; readonly onCreate: () => void }) =>
  isFiltered ? (
    <EmptyState title="No consumer matches">
      <p>Names are matched exactly, tags by name and value, and all of them must match.</p>
    </EmptyState>
  ) : (
    <EmptyState title="There is no consumer yet">
      <p>A consumer is who calls your API: a customer, a team or a service. It has keys, tags and metadata.</p>
      {canWrite.value && <Button onClick={onCreate}>Create the first consumer</Button>}
    </EmptyState>
  )

/** One page of the consumers that match the filter in the address. */
export const ConsumerList = ({ params, onCreate }: ConsumerListProps) => {
  const { query } = address.value
  const filter = parseFilter(query)
  const offset = parseOffset(query["offset"])
  const path = `${toBucketPath(params)}/consumers`
  const consumers = useFormerData(
    useQuery(JSON.stringify([path, filter, offset]), (signal) => listConsumers(path, filter, { limit, offset }, signal))
  )
  return (
    <>
      <ConsumerFilters filter={filter} />
      <QueryView query={consumers}>
        {({ data, total }) =>
          total === 0 ? (
            <NoConsumers isFiltered={isFiltering(filter)} onCreate={onCreate} />
          ) : (
            <>
              {data.length === 0 && <p class="hint">This page is past the end of the list.</p>}
              <Table caption="Consumers" rows={data} getKey={({ id }) => id} columns={makeColumns(params)} />
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
    </>
  )
}
