/**
 * A result with the rate limits and quotas that the request used. Over HTTP they are the headers `RateLimit-Policy` and
 * `RateLimit`.
 */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { formatRateLimitHeaders, type HeaderPolicy } from "../rateLimits/rateLimitHeaders.ts"

export interface WithRateLimits<A> {
  readonly value: A
  /** Empty in a client, and for a replay of an earlier request. */
  readonly policies: ReadonlyArray<HeaderPolicy>
}

/** Marks the schema, for `describeOperations`. */
export const withRateLimitsAnnotation = "~tollgate/withRateLimits"

export const withRateLimits = <A, I>(item: Schema.Codec<A, I>): Schema.Codec<WithRateLimits<A>, unknown> => {
  const schema = Schema.Struct({
    value: item as Schema.Codec<unknown>,
    policies: Schema.Array(Schema.Unknown)
  }).pipe(
    HttpApiSchema.encodeToWithHeaders(
      {
        body: item as Schema.Codec<unknown>,
        headers: {
          "ratelimit-policy": Schema.optionalKey(
            Schema.String.annotate({ description: "The rate limits and quotas of the request." })
          ),
          ratelimit: Schema.optionalKey(Schema.String.annotate({ description: "What is left of each of them." }))
        }
      },
      {
        decode: ({ body }) => ({ value: body, policies: [] }),
        encode: ({ value, policies }) => ({
          body: value,
          headers: formatRateLimitHeaders(policies as ReadonlyArray<HeaderPolicy>)
        })
      }
    )
  )
  return schema.annotate({ [withRateLimitsAnnotation]: true }) as unknown as Schema.Codec<WithRateLimits<A>, unknown>
}
