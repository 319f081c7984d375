/**
 * Schemas and parse options that endpoint declarations share.
 */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** Rejects unknown properties: a mistyped filter must not list everything, a mistyped `ifTags` must not be ignored. */
export const rejectUnknown = { onExcessProperty: "error" } as const

/** Schema of a query without parameters: every parameter is rejected by name. */
export const emptyQuery = Schema.Record(Schema.String, Schema.Never)

export const ifMatchHeader = { "if-match": Schema.optionalKey(Schema.String) }

/** Adds an `ETag` response header, which carries the version of the item. */
export const withETagHeader = <S extends Schema.Top>(schema: S) =>
  HttpApiSchema.WithHeaders(schema, { etag: Schema.String })
