/**
 * Versions of items. Operations return an item with its version; over HTTP the version is the ETag header.
 */

import type { Entry } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** Proxies that compress a response make its ETag weak: `W/"1"`. */
const parseVersion = (etag: string): number => Number(/\d+/.exec(etag)?.[0] ?? 0)

/** An item with its version: the body and the `ETag` header of a response. */
export const withVersion = <A, I>(item: Schema.Codec<A, I>) => {
  const schema = Schema.Struct({ value: item as Schema.Codec<unknown>, version: Schema.Int }).pipe(
    HttpApiSchema.encodeToWithHeaders(
      { body: item as Schema.Codec<unknown>, headers: { etag: Schema.String } },
      {
        decode: ({ body, headers }) => ({ value: body, version: parseVersion(headers.etag) }),
        encode: ({ value, version }) => ({ body: value, headers: { etag: `"${version}"` } })
      }
    )
  )
  return schema as unknown as Schema.Codec<Entry<A>, { readonly body: I; readonly headers: { readonly etag: string } }>
}
