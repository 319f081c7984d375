/**
 * Custom data of the caller: any JSON object of up to 64 KiB, with up to 1,000 lists and objects in it. Empty lists would
 * take twenty times their bytes in memory, and thousands of them are in a page.
 */
import { Schema } from "effect"
import { isPlainObject } from "../runtime/isPlainObject.ts"

const maxBytes = 64 * 1024

const maxContainers = 1_000

const countContainers = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 0
  const nested: ReadonlyArray<unknown> = Array.isArray(value) ? value : Object.values(value)
  return nested.reduce<number>((count, item) => count + countContainers(item), 1)
}

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
      Schema.makeFilter(isWithinLimit, { expected: "an object of at most 64 KiB when serialized as JSON" }),
      Schema.makeFilter((value) => countContainers(value) <= maxContainers + 1, {
        expected: "an object with at most 1,000 lists and objects in it"
      })
    )
  )
  .annotate({ identifier: "Metadata" })
export type Metadata = typeof Metadata.Type
