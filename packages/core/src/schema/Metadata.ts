/**
 * Whatever the host wants to remember: any JSON object, up to 64 KiB.
 */
import { Schema } from "effect"

const maximumBytes = 64 * 1024

const fits = (value: object): boolean => Buffer.byteLength(JSON.stringify(value)) <= maximumBytes

export const Metadata = Schema.Record(Schema.String, Schema.Json)
  .pipe(Schema.check(Schema.makeFilter(fits, { expected: "an object of at most 64 KiB as JSON" })))
  .annotate({ identifier: "Metadata" })
export type Metadata = typeof Metadata.Type
