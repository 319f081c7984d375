/**
 * Tags: key-value pairs of a consumer, used as a filter in lists and as a precondition of writes. Values are compared
 * as strings, so `1` matches `"1"`.
 */
import { Schema } from "effect"
import { recordByShortName, shortName } from "./Names.ts"
import { isMaxCharacters } from "./Text.ts"

const maxTags = 50

export const TagName = shortName

export const TagValue = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]).pipe(
  Schema.check(isMaxCharacters(256))
)

/** The tags of a consumer: up to 50 names, each with a string, a number or a boolean. */
export const Tags = recordByShortName(TagValue)
  .pipe(Schema.check(Schema.isMaxProperties(maxTags)))
  .annotate({ identifier: "Tags" })
export type Tags = typeof Tags.Type

/** A filter by tags. All of them must match. */
export const TagFilter = recordByShortName(Schema.String).pipe(Schema.check(Schema.isMaxProperties(maxTags)))
export type TagFilter = typeof TagFilter.Type

const tagTerm = (name: string, value: string | number | boolean): string => `tag:${name}=${value}`

export const tagTerms = (tags: Tags | TagFilter | undefined): ReadonlyArray<string> =>
  Object.entries(tags ?? {}).map(([name, value]) => tagTerm(name, value))

export const matchesTags = (tags: Tags | undefined, filter: TagFilter): boolean => {
  const terms = new Set(tagTerms(tags))
  return tagTerms(filter).every((term) => terms.has(term))
}
