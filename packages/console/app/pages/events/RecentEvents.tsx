import { get, toPath } from "@tollgate/ui/api/request.ts"
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
