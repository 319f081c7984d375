/**
 * Custom data of the caller: any JSON object of up to 64 KiB.
 */
import { Schema } from "effect"
import { isPlainObject } from "../runtime/isPlainObject.ts"

const maxBytes = 64 * 1024

const isJson = (value: unknown): boolean => {
  if (typeof value === "number") return Number.isFinite(value)
  if (typeof value !== "object" || value === null) return value === null || ["string", "boolean"].includes(typeof value)
  if (Array.isArray(value)) return value.every(isJson)
  return isPlainObject(value) && Object.values(value).every(isJson)
}

/** UTF-8 takes up to three bytes per UTF-16 code unit, so most values need no count. */
const isWithinLimit = (value: object): boolean => {
  const json = JSON.stringify(value)
  return json.length * 3 <= maxBytes || new TextEncoder().encode(json).length <= maxBytes
}

/** Checked as a whole: a schema of every value takes ten times as long as parsing them. */
const Unchecked = Schema.Any as Schema.Codec<Schema.Json>

export const Metadata = Schema.Record(Schema.String, Unchecked)
  .pipe(
    Schema.check(
      Schema.makeFilter(isJson, { expected: "an object that JSON can express" }),
      Schema.makeFilter(isWithinLimit, { expected: "an object of at most 64 KiB when serialized as JSON" })
    )
  )
  .annotate({ identifier: "Metadata" })
export type Metadata = typeof Metadata.Type
