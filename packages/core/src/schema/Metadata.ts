/**
 * Custom data of the caller: any JSON object of up to 64 KiB.
 */
import { Schema } from "effect"

const maxBytes = 64 * 1024

const isWithinLimit = (value: object): boolean => Buffer.byteLength(JSON.stringify(value)) <= maxBytes

export const Metadata = Schema.Record(Schema.String, Schema.Json)
  .pipe(
    Schema.check(Schema.makeFilter(isWithinLimit, { expected: "an object of at most 64 KiB when serialized as JSON" }))
  )
  .annotate({ identifier: "Metadata" })
export type Metadata = typeof Metadata.Type
