/**
 * What the declarations of endpoints share.
 */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** A mistyped filter must not list everything, a mistyped guard must not be dropped, a mistyped field not be lost. */
export const rejectUnknown = { onExcessProperty: "error" } as const

/** No parameter at all: each one that comes is named and refused. */
export const emptyQuery = Schema.Record(Schema.String, Schema.Never)

export const ifMatchHeader = { "if-match": Schema.optionalKey(Schema.String) }

/** An item, with its version as a tag. */
export const withETagHeader = <S extends Schema.Top>(schema: S) =>
  HttpApiSchema.WithHeaders(schema, { etag: Schema.String })
