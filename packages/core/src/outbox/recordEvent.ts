import { type AccountName, type Change, Ids, skipChecks } from "@tollgate/store/internal"
import { Clock, DateTime, Effect } from "effect"
import { boundData } from "./boundData.ts"
import { CurrentActor } from "./CurrentActor.ts"
import { type Event, type EventData, EventId, type EventType, type Subject } from "./Event.ts"
import { outboxRecords } from "./outboxRecords.ts"

export interface EventFields {
  readonly accountName: AccountName
  readonly subject: Subject
  /** The resource as plain JSON. */
  readonly data: EventData
}

/** Makes an event of the current actor, with a new id. */
export const makeEvent = (type: string, { data, ...fields }: EventFields): Effect.Effect<Event> =>
  Effect.withFiber((fiber) =>
    Effect.map(Ids.generate("evt"), (id) => ({
      id: EventId.make(id, skipChecks),
      type,
      occurredOn: DateTime.makeUnsafe(fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()),
      actor: fiber.getRef(CurrentActor),
      ...fields,
      data: boundData(data)
    }))
  )

/** The change that records an event. Commit it together with the change that it describes. */
export const recordEvent = (type: EventType, fields: EventFields): Effect.Effect<Change> =>
  Effect.map(makeEvent(type, fields), outboxRecords.insert)
