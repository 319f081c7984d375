/**
 * ETags: the version of an item as a response header, and the If-Match request header.
 */
import { Effect, Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { InvalidInput } from "../schema/InvalidInput.ts"
import type { Entry } from "../store/Collection.ts"

/** Adds an `ETag` response header, which carries the version of the item. */
export const withETagHeader = <S extends Schema.Top>(schema: S) =>
  HttpApiSchema.WithHeaders(schema, { etag: Schema.String })

export const ifMatchHeader = { "if-match": Schema.optionalKey(Schema.String) }

/** Converts a stored entry to a response body with its version as the ETag. */
export const withETag = <A>({ value, version }: Entry<A>) =>
  HttpApiSchema.withHeaders({ body: value, headers: { etag: `"${version}"` } })

/** Parses the versions of an If-Match header; `undefined` (no header, or `*`) matches any version. */
export const parseIfMatch = (
  header: string | undefined
): Effect.Effect<ReadonlyArray<number> | undefined, InvalidInput> => {
  if (header === undefined || header.trim() === "*") return Effect.succeed(undefined)
  const etags = header.match(/(W\/)?"[^"]*"/g) ?? []
  if (etags.length === 0 || !/^[\s,]*$/.test(header.replace(/(W\/)?"[^"]*"/g, ""))) {
    return Effect.fail(
      new InvalidInput({
        errors: [{ parameter: "If-Match", detail: "must be one or more ETags from earlier responses, or *" }]
      })
    )
  }
  // Weak ETags and ETags that are not versions never match: NaN equals no version.
  return Effect.succeed(etags.map((etag) => (/^"[1-9]\d*"$/.test(etag) ? Number(etag.slice(1, -1)) : Number.NaN)))
}
