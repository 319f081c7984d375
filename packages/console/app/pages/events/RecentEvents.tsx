import { get, type Query, toPath } from "@tollgate/ui/api/request.ts"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Table } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { useReloadOn } from "@tollgate/ui/data/useReloadOn.ts"
import type { EventJson, PageJson } from "../../api/types.ts"
import { linkTo } from "../../routing/router.ts"
import { describeActor } from "./describeActor.ts"
import { Subject } from "./Subject.tsx"

/** Events in short: when, what, of what, by whom. */
const EventTable = ({ events }: { readonly events: ReadonlyArray<EventJson> }) => (
  <Table
    caption="Events, newest first"
    rows={events}
    getKey={({ id }) => id}
    columns={[
      { title: "When", render: ({ occurredOn }) => <Time value={occurredOn} /> },
      {
        title: "Event",
        render: ({ type, accountName, subject }) => (
          <a href={linkTo(["accounts", accountName, "events"], { type, subject: subject.id })}>{type}</a>
        )
      },
      { title: "About", render: (event) => <Subject event={event} /> },
      { title: "By", render: ({ actor }) => describeActor(actor) }
    ]}
  />
)

const maxShown = 10

/** Reads what fits any of the filters, each event once, newest first. */
const loadEvents = async (
  account: string,
  filters: ReadonlyArray<Query>,
  signal: AbortSignal
): Promise<ReadonlyArray<EventJson>> => {
  const path = `${toPath("/v1/accounts", account)}/events`
  const pages = await Promise.all(
    filters.map((filter) => get<PageJson<EventJson>>(path, { ...filter, limit: maxShown }, signal))
  )
  const found = new Map(pages.flatMap(({ data }) => data).map((event) => [event.id, event]))
  return pages.length === 1
    ? [...found.values()]
    : [...found.values()]
        .sort((one, other) => Date.parse(other.occurredOn) - Date.parse(one.occurredOn))
        .slice(0, maxShown)
}

/** The latest events of an account, or those that fit any of the filters. */
export const RecentEvents = ({
  account,
  filters = [{}],
  revision = 0
}: {
  readonly account: string
  readonly filters?: ReadonlyArray<Query> | undefined
  /** Another number loads them again. */
  readonly revision?: number
}) => {
  const events = useQuery(JSON.stringify(["events", account, filters]), (signal) =>
    loadEvents(account, filters, signal)
  )
  useReloadOn(events, revision)
  return (
    <QueryView query={events}>
      {(events) => (events.length === 0 ? <p class="hint">There is none yet.</p> : <EventTable events={events} />)}
    </QueryView>
  )
}
