/**
 * Schemas and parsers of the query parameters that several endpoints share.
 */
import { Effect, Schema, SchemaTransformation } from "effect"
import { Limit, maxLimit, Offset } from "../schema/Page.ts"
import { type TagFilter, TagName } from "../schema/Tags.ts"

/** Schema of a query without parameters: every parameter is rejected by name. */
export const emptyQuery = Schema.Record(Schema.String, Schema.Never)

/** Clamps to the safe integer range, so that a long run of digits counts as "very large" instead of `Infinity`. */
const clampInteger = (text: string): number =>
  Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number(text), Number.MAX_SAFE_INTEGER))

const IntegerFromString = Schema.String.pipe(
  Schema.check(Schema.isPattern(/^-?\d{1,1000}$/u, { expected: "an integer" })),
  Schema.decodeTo(Schema.Int, SchemaTransformation.transform({ decode: clampInteger, encode: String }))
)

export const pagination = {
  limit: IntegerFromString.pipe(
    Schema.decodeTo(Limit),
    Schema.withDecodingDefaultKey(Effect.succeed(String(maxLimit)))
  ),
  offset: IntegerFromString.pipe(Schema.decodeTo(Offset), Schema.withDecodingDefaultKey(Effect.succeed("0")))
}

/** Any number of `tag.<property>=<value>` parameters. */
const TagParameters = Schema.Record(Schema.TemplateLiteral(["tag.", TagName]), Schema.String)

const hasAtMost50Tags = (query: object): boolean =>
  Object.keys(query).filter((name) => name.startsWith("tag.")).length <= 50

/** Schema of a query with the given parameters and up to 50 tag parameters. */
export const withTagFilter = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.StructWithRest(Schema.Struct(fields), [TagParameters]).pipe(
    Schema.check(Schema.makeFilter(hasAtMost50Tags, { expected: "at most 50 tags" }))
  )

/** Extracts the tag parameters; `undefined` if the query has none. */
export const parseTagFilter = (query: Readonly<Record<string, unknown>>): TagFilter | undefined => {
  const tags = Object.entries(query).filter(([name]) => name.startsWith("tag."))
  return tags.length === 0 ? undefined : Object.fromEntries(tags.map(([name, value]) => [name.slice(4), String(value)]))
}
