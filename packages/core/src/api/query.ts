/**
 * The query parameters that several endpoints share.
 */

import { Cursor, cursorPattern, Limit, maxLimit, Offset, TagFilter, TagName } from "@tollgate/store/internal"
import { Effect, Schema, SchemaTransformation } from "effect"
import { optional, type Parameter, parameters } from "./parameters.ts"

/** Schema of a query without parameters: every parameter is rejected by name. */
export const noQuery = parameters({})

/** Clamps to the safe integer range, so that a long run of digits counts as "very large" instead of `Infinity`. */
const clampInteger = (text: string): number =>
  Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number(text), Number.MAX_SAFE_INTEGER))

const IntegerFromString = Schema.String.pipe(
  Schema.check(Schema.isPattern(/^(?:0|-?[1-9]\d{0,999})$/u, { expected: "an integer without leading zeros" })),
  Schema.decodeTo(Schema.Int, SchemaTransformation.transform({ decode: clampInteger, encode: String }))
)

/** The range of a page. */
export const page = {
  limit: {
    description:
      "Maximum number of items to return. Larger values are reduced to the maximum. A page of large items ends at about " +
      "4 MiB and has fewer: `next` says whether there are more.",
    openApiSchema: { type: "integer", format: "uint32", minimum: 1, maximum: maxLimit, default: maxLimit },
    json: Limit.pipe(Schema.withDecodingDefaultKey(Effect.succeed(maxLimit))),
    wire: IntegerFromString.pipe(
      Schema.decodeTo(Limit),
      Schema.withDecodingDefaultKey(Effect.succeed(String(maxLimit)))
    )
  },
  offset: {
    description: "Number of items to skip. Items are sorted by creation date, oldest first.",
    openApiSchema: { type: "integer", format: "uint32", minimum: 0, default: 0 },
    json: Offset.pipe(Schema.withDecodingDefaultKey(Effect.succeed(0))),
    wire: IntegerFromString.pipe(Schema.decodeTo(Offset), Schema.withDecodingDefaultKey(Effect.succeed("0")))
  },
  after: {
    description: "The `next` of an earlier page: returns the items after it. `offset` counts from there.",
    openApiSchema: { type: "string", pattern: cursorPattern.source },
    json: Schema.optionalKey(Cursor),
    wire: Schema.optionalKey(Cursor)
  }
}

/** Maximum items of a page with the usage of each. */
export const maxWithUsage = 100

/** Adds what is used of each meter to the items of a list. */
export const includeUsage = optional(Schema.Literal("usage"), {
  description: `Include what is used of each meter. A page has at most ${maxWithUsage} items then.`
})

/** The items of a page: fewer if it includes usage. */
export const limitWithUsage = ({
  limit,
  include
}: {
  readonly limit: number
  readonly include?: "usage" | undefined
}) => (include === undefined ? limit : Math.min(limit, maxWithUsage))

/** An offset of a list that must know whether it was given. */
export const givenOffset = {
  ...page.offset,
  json: Schema.optionalKey(Offset),
  wire: Schema.optionalKey(IntegerFromString.pipe(Schema.decodeTo(Offset)))
}

/** The range of a page of a list that begins with the newest item. */
export const pageNewestFirst = {
  ...page,
  offset: { ...page.offset, description: "Number of items to skip. Items are sorted by creation date, newest first." }
}

/** Any number of `tag.<property>=<value>` parameters. */
const tagFilter = {
  json: Schema.optionalKey(TagFilter),
  wire: Schema.Record(Schema.TemplateLiteral(["tag.", TagName]), Schema.String),
  prefix: "tag."
} satisfies Parameter

/** Lists only the items that have all these tags. */
export const tags = { tags: tagFilter }

/** Responds with 404 unless the consumer has all these tags. */
export const ifTags = { ifTags: tagFilter }
