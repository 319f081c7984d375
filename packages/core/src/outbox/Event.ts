/**
 * An event: what was changed, when, and by whom.
 */
import { Schema } from "effect"
import { Id } from "../schema/Id.ts"
import { AccountName } from "../schema/Names.ts"
import { Timestamp } from "../schema/Timestamp.ts"
import { Actor } from "./CurrentActor.ts"

/** The kinds of resources, and what can happen to each. */
const actions = {
  consumer: ["created", "updated", "deleted", "key_rolled"],
  key: ["created", "updated", "deleted"],
  metering_bucket: ["created", "deleted"],
  plan: ["created", "updated", "deleted"],
  subscription: ["created", "updated", "deleted", "status_changed"],
  quota: ["threshold_reached"],
  deployment: ["created", "succeeded", "failed", "deleted"],
  webhook: ["created", "updated", "deleted", "disabled"]
} as const

type Actions = typeof actions
export type EventGroup = keyof Actions
export type EventType = { [Group in EventGroup]: `${Group}.${Actions[Group][number]}` }[EventGroup]

export const eventTypes = Object.entries(actions).flatMap(([group, names]) =>
  names.map((name) => `${group}.${name}`)
) as ReadonlyArray<EventType>

/** One type, or all types of a group: `consumer.*`. */
export const eventTypePatterns = [
  ...eventTypes,
  ...Object.keys(actions).map((group) => `${group}.*` as const)
] as ReadonlyArray<EventType | `${EventGroup}.*`>

/** The id of an event. It begins with `evt_`. */
export const EventId = Id("evt").pipe(Schema.brand("EventId"))
export type EventId = typeof EventId.Type

/** What an event is about. */
export const Subject = Schema.Struct({
  type: Schema.Literals(["consumer", "key", "metering_bucket", "plan", "subscription", "deployment", "webhook"]),
  id: Schema.String,
  /** The name of a resource that has one. */
  name: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "EventSubject" })
export type Subject = typeof Subject.Type

/** A resource as plain JSON. */
export const EventData = Schema.Record(Schema.String, Schema.Json)
export type EventData = typeof EventData.Type

/** An entry of the event log: what was changed, when, and by whom. */
export const Event = Schema.Struct({
  id: EventId,
  type: Schema.String,
  occurredOn: Timestamp,
  accountName: AccountName,
  actor: Actor,
  subject: Subject,
  /** The resource as a read shows it; after its deletion, as it was last. Never contains the value of a key. */
  data: EventData
}).annotate({ identifier: "Event" })
export type Event = typeof Event.Type
/** An event, as plain JSON. */
export type EventJson = typeof Event.Encoded
