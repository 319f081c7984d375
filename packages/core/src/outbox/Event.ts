/**
 * An event: what was changed, when, and by whom.
 */

import { AccountName, Id, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { Actor } from "./CurrentActor.ts"

/** The types of events. A module adds those that it records: `declare module` merges them into this interface. */
export interface EventTypes {
  "consumer.created": true
  "consumer.updated": true
  "consumer.deleted": true
  "consumer.key_rolled": true
  "key.created": true
  "key.updated": true
  "key.deleted": true
  "key.expiring": true
  "key.revealed": true
  "metering_bucket.created": true
  "metering_bucket.deleted": true
  "plan.created": true
  "plan.updated": true
  "plan.deleted": true
  "subscription.created": true
  "subscription.updated": true
  "subscription.deleted": true
  "subscription.status_changed": true
  "usage.adjusted": true
  "quota.threshold_reached": true
  "period.closed": true
  "period.corrected": true
  "grant.created": true
  "grant.voided": true
  "grant.depleted": true
  "grant.expired": true
  "alert.created": true
  "alert.deleted": true
  "alert.triggered": true
}

/** A type of event, such as `consumer.created`. */
export type EventType = keyof EventTypes
type EventGroup = EventType extends `${infer Group}.${string}` ? Group : never
/** One type, or all types of a group: `consumer.*`. */
export type EventTypePattern = EventType | `${EventGroup}.*`

/** The types, and all types of each group. */
export const toPatterns = (eventTypes: ReadonlyArray<string>): ReadonlyArray<EventTypePattern> => [
  ...(eventTypes as ReadonlyArray<EventType>),
  ...[...new Set(eventTypes.map((type) => type.slice(0, type.indexOf(".")) as EventGroup))].map(
    (group) => `${group}.*` as const
  )
]

export interface EventDescription {
  readonly description: string
  /** The resource as events show it. */
  readonly data: Schema.Codec<unknown, unknown>
}

/** What each type of event describes, and the schema of its data. */
export type EventCatalog = { readonly [Type in EventType]?: EventDescription }

/** The id of an event. It begins with `evt_`. */
export const EventId = Id("evt").pipe(Schema.brand("EventId"))
export type EventId = typeof EventId.Type

/** What an event is about. */
export const Subject = Schema.Struct({
  /** The kind of resource: `consumer`, `key`, `plan` and so on. */
  type: Schema.String,
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
