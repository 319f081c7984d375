/**
 * An event in an outbox or a log. Its data was parsed from JSON, or is about to be written as JSON: the schema of all JSON
 * values would only visit each of them again, for every event that is written or moved.
 */

import { formatTimestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { Event, type EventData } from "./Event.ts"

const isObject = (value: unknown): value is EventData =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const StoredEvent = Schema.Struct({ ...Event.fields, data: Schema.declare(isObject) })

/** Everything but the time is JSON already. */
export const encodeStoredEvent = ({
  id,
  type,
  occurredOn,
  ...rest
}: typeof StoredEvent.Type): typeof StoredEvent.Encoded => ({
  id,
  type,
  occurredOn: formatTimestamp(occurredOn),
  ...rest
})
