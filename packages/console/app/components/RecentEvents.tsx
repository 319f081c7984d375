import { get, toPath } from "../api/request.ts"
import type { EventJson, PageJson } from "../api/types.ts"
import { useQuery } from "../data/useQuery.ts"
import { useReloadOn } from "../data/useReloadOn.ts"
import { linkTo } from "../routing/router.ts"
import { QueryView } from "./QueryView.tsx"
import { Table } from "./Table.tsx"
import { Time } from "./Time.tsx"

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
      { title: "Of", render: ({ subject }) => subject.name ?? <code>{subject.id}</code> },
      { title: "By", render: ({ actor }) => ("id" in actor && actor.id !== undefined ? actor.id : actor.type) }
    ]}
  />
)

/** The latest events of an account, or of one thing in it. */
export const RecentEvents = ({
  account,
  subject,
  limit = 10,
  revision = 0
}: {
  readonly account: string
  readonly subject?: string | undefined
  readonly limit?: number
  /** Another number loads them again. */
  readonly revision?: number
}) => {
  const events = useQuery(`events ${account} ${subject} ${limit}`, (signal) =>
    get<PageJson<EventJson>>(`${toPath("/v1/accounts", account)}/events`, { subject, limit }, signal)
  )
  useReloadOn(events, revision)
  return (
    <QueryView query={events}>
      {({ data }) => (data.length === 0 ? <p class="hint">There is none yet.</p> : <EventTable events={data} />)}
    </QueryView>
  )
}
