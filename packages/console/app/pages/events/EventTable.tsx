import { Button } from "@tollgate/ui/components/Button.tsx"
import { Table } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import type { EventJson } from "../../api/types.ts"
import { describeActor } from "./describeActor.ts"
import { Subject } from "./Subject.tsx"

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
