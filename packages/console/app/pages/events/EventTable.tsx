import type { EventJson } from "../../api/types.ts"
import { Button } from "../../components/Button.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { describeActor } from "./describeActor.ts"
import { getSubjectLink } from "./findSubject.ts"

const Subject = ({ event }: { readonly event: EventJson }) => {
  const { type, id, name } = event.subject
  const link = getSubjectLink(event)
  return (
    <span class="wide-cell">
      <span class="hint">{type.replace("_", " ")}</span>{" "}
      {link === undefined ? <span>{name ?? id}</span> : <a href={link}>{name ?? id}</a>}
    </span>
  )
}

export const EventTable = ({
  events,
  onShow
}: {
  readonly events: ReadonlyArray<EventJson>
  readonly onShow: (event: EventJson) => void
}) => (
  <Table
    caption="Events"
    rows={events}
    getKey={({ id }) => id}
    columns={[
      { title: "When", render: ({ occurredOn }) => <Time value={occurredOn} /> },
      { title: "Type", render: ({ type }) => <code>{type}</code> },
      { title: "About", render: (event) => <Subject event={event} /> },
      { title: "By", render: ({ actor }) => <span class="wide-cell">{describeActor(actor)}</span> },
      {
        title: "Details",
        render: (event) => (
          <Button
            isSmall
            onClick={() => onShow(event)}
            label={`Details of ${event.type} ${event.subject.name ?? event.subject.id}`}
          >
            Details
          </Button>
        )
      }
    ]}
  />
)
