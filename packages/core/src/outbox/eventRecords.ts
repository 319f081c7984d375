/**
 * The event log of an account: its events in order of arrival, and how far each outbox has been moved to the log.
 */
import { Schema } from "effect"
import * as Collection from "../store/Collection.ts"
import { encodeStoredEvent, StoredEvent } from "./StoredEvent.ts"

export const byType = (type: string): string => `type:${type}`
export const byGroup = (group: string): string => `group:${group}`
export const bySubject = (id: string): string => `subject:${id}`

export const eventRecords = Collection.make({
  name: "event",
  countsBytes: false,
  format: 1,
  schema: StoredEvent,
  encode: encodeStoredEvent,
  key: ({ id }) => id,
  indexTerms: ({ type, subject }) => [byType(type), byGroup(type.slice(0, type.indexOf("."))), bySubject(subject.id)]
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
