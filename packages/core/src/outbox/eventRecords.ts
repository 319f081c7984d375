/**
 * The event log of an account: its events in order of arrival, and how far each outbox has been moved to the log.
 */

import { Collection } from "@tollgate/store/internal"
import { Schema } from "effect"
import type { Event } from "./Event.ts"
import { encodeStoredEvent, StoredEvent } from "./StoredEvent.ts"

export const byType = (type: string): string => `type:${type}`
export const byGroup = (group: string): string => `group:${group}`
/** Changes are those of people, tokens and the host; everything else is of the system. */
export const getOrigin = ({ actor }: Pick<Event, "actor">): "change" | "system" =>
  actor.type === "system" ? "system" : "change"
export const byOrigin = (origin: ReturnType<typeof getOrigin>): string => `origin:${origin}`
export const bySubject = (id: string): string => `subject:${id}`
export const byConsumer = (keyBucketName: string, name: string): string => `consumer:${keyBucketName}/${name}`
export const byCustomer = (customerKey: string): string => `customer:${customerKey}`

/** Whom an event concerns, as its data says: events of a key name its consumer, those of a subscription its customer. */
const toOwnerTerms = ({ keyBucketName, consumerName, customerKey }: Event["data"]): ReadonlyArray<string> => [
  ...(typeof keyBucketName === "string" && typeof consumerName === "string"
    ? [byConsumer(keyBucketName, consumerName)]
    : []),
  ...(typeof customerKey === "string" ? [byCustomer(customerKey)] : [])
]

/** The events of an account, in its log. */
export const eventRecords = Collection.make({
  name: "event",
  countsBytes: false,
  format: 1,
  schema: StoredEvent,
  encode: encodeStoredEvent,
  key: ({ id }) => id,
  indexTerms: (event) => [
    byType(event.type),
    byGroup(event.type.slice(0, event.type.indexOf("."))),
    bySubject(event.subject.id),
    byOrigin(getOrigin(event)),
    ...toOwnerTerms(event.data)
  ]
})

/**
 * How far the outbox of a partition has been moved. The versions of records are never reused, so an event with a version
 * up to `movedTo` is already in the log, or has been dropped from it.
 */
export const positionRecords = Collection.make({
  name: "position",
  format: 1,
  schema: Schema.Struct({ partition: Schema.String, movedTo: Schema.Int }),
  key: ({ partition }) => partition
})
