import { get, toPath } from "../../api/request.ts"
import type { EventJson, PageJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { QueryView } from "../../components/QueryView.tsx"
import { Section } from "../../components/Section.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { useQuery } from "../../data/useQuery.ts"
import { linkToEvents } from "./paths.ts"

const limit = 10

/** What happened to a consumer lately. The events of its keys have the keys as their subjects. */
export const ConsumerEvents = ({ account, consumerId }: { readonly account: string; readonly consumerId: string }) => {
  const events = useQuery(`events ${account} ${consumerId}`, (signal) =>
    get<PageJson<EventJson>>(toPath("/v1/accounts", account, "events"), { subject: consumerId, limit }, signal)
  )
  return (
    <Section
      title="Latest events"
      actions={
        <>
          <Button isSmall label="Refresh events" onClick={events.reload}>
            Refresh
          </Button>
          <a href={linkToEvents(account, consumerId)}>All events of this consumer</a>
        </>
      }
    >
      <QueryView query={events}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="hint">No event of this consumer is kept. New ones appear within a second.</p>
          ) : (
            <Table
              caption="Events of this consumer"
              rows={data}
              getKey={({ id }) => id}
              columns={[
                { title: "Event", render: ({ type }) => <code>{type}</code> },
                { title: "When", render: ({ occurredOn }) => <Time value={occurredOn} /> },
                {
                  title: "By",
                  render: ({ actor }) => (actor.id === undefined ? actor.type : `${actor.type} ${actor.id}`)
                }
              ]}
            />
          )
        }
      </QueryView>
    </Section>
  )
}
