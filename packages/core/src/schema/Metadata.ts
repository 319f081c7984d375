/**
 * Custom data of the caller: any JSON object of up to 64 KiB.
 */
import { Schema } from "effect"

const maxBytes = 64 * 1024

/** UTF-8 takes up to three bytes per UTF-16 code unit, so most values need no count. */
const isWithinLimit = (value: object): boolean => {
  const json = JSON.stringify(value)
  return json.length * 3 <= maxBytes || new TextEncoder().encode(json).length <= maxBytes
}

export const Metadata = Schema.Record(Schema.String, Schema.Json)
  .pipe(
    Schema.check(Schema.makeFilter(isWithinLimit, { expected: "an object of at most 64 KiB when serialized as JSON" }))
  )
  .annotate({ identifier: "Metadata" })
export type Metadata = typeof Metadata.Type
