import { Badge } from "@tollgate/ui/components/Badge.tsx"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"
import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { Pager } from "@tollgate/ui/components/Pager.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Skeleton } from "@tollgate/ui/components/Skeleton.tsx"
import { type Column, Table } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useFormerData } from "@tollgate/ui/data/useFormerData.ts"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { formatCount } from "@tollgate/ui/format/numbers.ts"
import { useState } from "preact/hooks"
import { MeterQuota } from "../../components/MeterQuota.tsx"
import { parseOffset } from "../../routing/parseOffset.ts"
import { address, setQuery } from "../../routing/router.ts"
import { canWrite, may } from "../../session/session.ts"
import { BulkActions } from "./BulkActions.tsx"
import { ConsumerFilters } from "./ConsumerFilters.tsx"
import { isFiltering, loadConsumers, maxSorted, needsAll, parseFilter } from "./consumerFilter.ts"
import {
  type ConsumerRow,
  getCustomerKey,
  getPlan,
  getState,
  loadSubscriptions,
  sortRows,
  stateTones,
  toRow
} from "./consumerRows.ts"
import { type BucketParams, linkToConsumer, toBucketPath } from "./paths.ts"
import { TagList } from "./TagList.tsx"

const limit = 50

export interface ConsumerListProps {
  readonly params: BucketParams
  readonly onCreate: () => void
}

const makeColumns = (params: BucketParams): ReadonlyArray<Column<ConsumerRow>> => [
  {
    title: "Name",
    sort: "name",
    render: ({ consumer: { name, description } }) => (
      <>
        <a class="consumer-name" href={linkToConsumer({ ...params, consumer: name })}>
          {name}
        </a>
        <span class="hint short-text">{description}</span>
      </>
    )
  },
  { title: "Plan", sort: "plan", render: (row) => getPlan(row) || "–" },
  {
    title: "Used",
    sort: "used",
    render: ({ use }) => (use === undefined ? "–" : <MeterQuota label={use.meter} quota={use.quota} />)
  },
  {
    title: "Last seen",
    sort: "seen",
    render: ({ lastSeenOn, consumer: { apiKeys } }) =>
      lastSeenOn !== undefined ? <Time value={lastSeenOn} /> : apiKeys === undefined ? "–" : "never"
  },
  {
    title: "State",
    sort: "state",
    render: (row) => <Badge tone={stateTones[getState(row)] ?? "neutral"}>{getState(row)}</Badge>
  },
  { title: "Tags", render: ({ consumer: { tags } }) => <TagList params={params} tags={tags} /> },
  { title: "Created", sort: "created", render: ({ consumer: { createdOn } }) => <Time value={createdOn} /> }
]

const NoConsumers = ({ isFiltered, onCreate }: { readonly isFiltered: boolean; readonly onCreate: () => void }) =>
  isFiltered ? (
    <EmptyState title="No consumer matches">
      <p>
        A search finds what begins with the text: names and their parts, e-mail addresses of managers, tags, words of
        descriptions, and keys by their last 4 characters. Tags are matched by name and value, and all of them must
        match.
      </p>
    </EmptyState>
  ) : (
    <EmptyState title="There is no consumer yet">
      <p>A consumer is who calls your API: a customer, a team or a service. It has keys, tags and metadata.</p>
      {canWrite.value && <Button onClick={onCreate}>Create the first consumer</Button>}
    </EmptyState>
  )

/** The consumers that match the filter in the address, page by page, and what can be done with many at once. */
export const ConsumerList = ({ params, onCreate }: ConsumerListProps) => {
  const { query } = address.value
  const filter = parseFilter(query)
  const offset = parseOffset(query["offset"])
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const path = `${toBucketPath(params)}/consumers`
  const isAll = needsAll(filter)
  const { search, manager, tags } = filter
  const consumers = useFormerData(
    useQuery(JSON.stringify([path, search, manager, tags, isAll, isAll ? 0 : offset]), (signal) =>
      loadConsumers(path, filter, offset, signal)
    )
  )
  const customerKeys = consumers.data?.data.map(getCustomerKey) ?? []
  const subscriptions = useFormerData(
    useQuery(JSON.stringify([params.account, customerKeys]), async (signal) =>
      customerKeys.length > 0 && may("metering:read")
        ? loadSubscriptions(params.account, customerKeys, signal)
        : new Map<string, never>()
    )
  )
  const change = (query: Parameters<typeof setQuery>[0]): void => setQuery({ offset: undefined, ...query })
  return (
    <>
      <ConsumerFilters filter={filter} />
      <QueryView query={consumers}>
        {({ data, total, offset: first }) => {
          if (total === 0) return <NoConsumers isFiltered={isFiltering(filter)} onCreate={onCreate} />
          // Before the plans and the usage are known, an order by them would change at once.
          if (isAll && subscriptions.data === undefined && subscriptions.problem === undefined) return <Skeleton />
          const rows = data.map((consumer) => toRow(consumer, subscriptions.data))
          const matching = sortRows(rows, filter.sort).filter(
            (row) =>
              (filter.state === "" || getState(row) === filter.state) &&
              (filter.plan === "" || getPlan(row) === filter.plan)
          )
          if (matching.length === 0 && first === undefined) return <NoConsumers isFiltered onCreate={onCreate} />
          const shown = first === undefined ? matching.slice(offset, offset + limit) : matching
          return (
            <>
              {subscriptions.problem !== undefined && (
                <ProblemNotice problem={subscriptions.problem} onRetry={subscriptions.reload} />
              )}
              {isAll && data.length < total && (
                <Notice kind="warning">
                  Only the oldest {formatCount(data.length)} of {formatCount(total)} consumers are sorted and filtered.
                  Filter by a tag or a manager to have at most {formatCount(maxSorted)}.
                </Notice>
              )}
              {shown.length === 0 && <p class="hint">This page is past the end of the list.</p>}
              <BulkActions
                params={params}
                matching={matching}
                selected={selected}
                onSelect={setSelected}
                onChanged={consumers.reload}
              />
              <Table
                caption="Consumers"
                rows={shown}
                getKey={({ consumer }) => consumer.name}
                columns={makeColumns(params)}
                sort={{ value: filter.sort, onChange: (sort) => change({ sort }) }}
                selection={{ keys: selected, onChange: setSelected, getLabel: ({ consumer }) => consumer.name }}
              />
              <Pager
                offset={offset}
                limit={limit}
                total={first === undefined ? matching.length : total}
                shown={shown.length}
                onChange={(offset) => setQuery({ offset: offset || undefined })}
              />
            </>
          )
        }}
      </QueryView>
    </>
  )
}
