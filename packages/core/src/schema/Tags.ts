/**
 * Key-value pairs by which consumers are found and guarded. Values are compared by their string form.
 */
import { Schema } from "effect"

const maximum = 50

export const TagName = Schema.String.pipe(Schema.check(Schema.isPattern(/^[A-Za-z0-9_.-]{1,64}$/u)))

const isShort = (value: string | number | boolean): boolean => [...String(value)].length <= 256

export const TagValue = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]).pipe(
  Schema.check(Schema.makeFilter(isShort, { expected: "a value of at most 256 characters" }))
)

export const Tags = Schema.Record(TagName, TagValue)
  .pipe(Schema.check(Schema.isMaxProperties(maximum)))
  .annotate({ identifier: "Tags" })
export type Tags = typeof Tags.Type

/** What a caller asks of the tags: all of these must match. */
export const TagFilter = Schema.Record(TagName, Schema.String).pipe(Schema.check(Schema.isMaxProperties(maximum)))
export type TagFilter = typeof TagFilter.Type

export const tagTerm = (name: string, value: string | number | boolean): string => `tag:${name}=${value}`

export const tagTerms = (tags: Tags | TagFilter | undefined): ReadonlyArray<string> =>
  Object.entries(tags ?? {}).map(([name, value]) => tagTerm(name, value))

export const matchesTags = (tags: Tags | undefined, filter: TagFilter): boolean => {
  const held = new Set(tagTerms(tags))
  return tagTerms(filter).every((term) => held.has(term))
}
