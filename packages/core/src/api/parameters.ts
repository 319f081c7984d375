/**
 * Query parameters and headers that several endpoints share.
 */
import { Effect, Schema, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { InvalidInput } from "../schema/InvalidInput.ts"
import { Limit, maxLimit, Offset } from "../schema/Page.ts"
import { type TagFilter, TagName } from "../schema/Tags.ts"
import type { Entry } from "../store/Collection.ts"

/** However many digits there are: what is larger than can be counted is as large. */
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

/** `tag.<property>=<value>`, any number of them. */
const TagParameters = Schema.Record(Schema.TemplateLiteral(["tag.", TagName]), Schema.String)

const hasFewTags = (query: object): boolean => Object.keys(query).filter((name) => name.startsWith("tag.")).length <= 50

/** A query of fixed parameters and tags. */
export const withTagFilter = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.StructWithRest(Schema.Struct(fields), [TagParameters]).pipe(
    Schema.check(Schema.makeFilter(hasFewTags, { expected: "at most 50 tags" }))
  )

/** The tags among the parameters; none if there are none. */
export const parseTagFilter = (query: Readonly<Record<string, unknown>>): TagFilter | undefined => {
  const tags = Object.entries(query).filter(([name]) => name.startsWith("tag."))
  return tags.length === 0 ? undefined : Object.fromEntries(tags.map(([name, value]) => [name.slice(4), String(value)]))
}

/** An item and its ETag, as an endpoint answers them. */
export const withETag = <A>({ value, version }: Entry<A>) =>
  HttpApiSchema.withHeaders({ body: value, headers: { etag: `"${version}"` } })

/** The versions that an If-Match names; undefined where any will do. */
export const parseIfMatch = (
  header: string | undefined
): Effect.Effect<ReadonlyArray<number> | undefined, InvalidInput> => {
  if (header === undefined || header.trim() === "*") return Effect.succeed(undefined)
  const tags = header.match(/(W\/)?"[^"]*"/g) ?? []
  if (tags.length === 0 || !/^[\s,]*$/.test(header.replace(/(W\/)?"[^"]*"/g, ""))) {
    return Effect.fail(
      new InvalidInput({ errors: [{ parameter: "If-Match", detail: "give an ETag as it was answered" }] })
    )
  }
  // A weak tag never matches, and neither does one that is not a version.
  return Effect.succeed(tags.map((tag) => (/^"[1-9]\d*"$/.test(tag) ? Number(tag.slice(1, -1)) : Number.NaN)))
}
