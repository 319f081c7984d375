/**
 * What a protected route answers: the headers of an allowed request, or the problem of a refused one. `@tollgate/protect`
 * sends it, and the operation `authorize` tells it to servers that Tollgate does not run in.
 */

import { encodeProblem, omitUndefined, type ProblemJson, type TollgateError } from "@tollgate/store/internal"
import { type Clock, DateTime } from "effect"
import { IpNotAllowed, MissingScope, Unauthorized } from "../access/AccessError.ts"
import { MissingFeature } from "../metering/model/FeatureError.ts"
import { QuotaExceeded, SubscriptionNotActive } from "../metering/model/QuotaError.ts"
import { toPolicies } from "../metering/usage/ConsumeResult.ts"
import { RateLimited } from "../rateLimits/RateLimitError.ts"
import { formatRateLimitHeaders, formatRefusalHeaders, type HeaderPolicy } from "../rateLimits/rateLimitHeaders.ts"
import type { Allowed, Refused } from "./Decision.ts"

type Headers = Readonly<Record<string, string>>

/** Where a route finds the key, if it is not in `Authorization`. */
export type KeyPlace = { readonly header: string } | { readonly query: string }

export interface RefusalProblem {
  readonly error: TollgateError
  readonly headers: Headers
}

/**
 * The refusal of every key that is not valid, the same for all requests of a route. It says where the route expects the
 * key. No scheme is registered for keys in other places than `Authorization`: the parameters of `ApiKey` are those with
 * which OpenAPI describes such a key.
 */
export const makeInvalidKeyRefusal = (keyFrom?: KeyPlace): RefusalProblem => {
  if (keyFrom === undefined) {
    const error = new Unauthorized({ detail: "Send a valid API key in the header Authorization: Bearer <key>" })
    return { error, headers: { "www-authenticate": "Bearer" } }
  }
  const [place, description, name] =
    "header" in keyFrom
      ? ["header", "header", keyFrom.header]
      : // Encoded as in a URL: the name of a query parameter may have characters that a header cannot contain.
        ["query", "query parameter", encodeURIComponent(keyFrom.query.toWellFormed())]
  return {
    error: new Unauthorized({ detail: `Send a valid API key in the ${description} ${name}` }),
    headers: { "www-authenticate": `ApiKey in="${place}", name="${name}"` }
  }
}

const noHeaders: Headers = {}

const toRefusalHeaders = (policy: HeaderPolicy | undefined): Headers =>
  policy === undefined ? noHeaders : formatRefusalHeaders(policy)

/** The refusal by a rate limit. There is no policy if the subscription has too many requests in flight. */
export const toLimitProblem = ({
  limit,
  retryAfterMs,
  policy
}: Pick<RateLimited, "limit" | "retryAfterMs"> & { readonly policy?: HeaderPolicy | undefined }): RefusalProblem => ({
  error: new RateLimited({ limit, retryAfterMs }),
  headers: { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1_000))), ...toRefusalHeaders(policy) }
})

export const toRefusal = (decision: Refused, invalidKey: RefusalProblem): RefusalProblem => {
  switch (decision.reason) {
    case "missing-scope":
      return { error: new MissingScope({ scopes: decision.scopes }), headers: {} }
    case "missing-feature":
      return { error: new MissingFeature({ features: decision.features }), headers: {} }
    case "ip-not-allowed":
      return { error: new IpNotAllowed(), headers: {} }
    case "no-subscription":
    case "subscription-not-active":
      return {
        error: new SubscriptionNotActive({ detail: "Subscribe to a plan, or pay what is overdue" }),
        headers: {}
      }
    case "rate-limited":
      return toLimitProblem(decision)
    case "over-quota": {
      const { meter, max, resetsOn, policy } = decision
      const detail =
        resetsOn === undefined ? "The quota does not reset" : `The quota resets on ${DateTime.formatIso(resetsOn)}`
      const error = new QuotaExceeded({ meter, max, ...omitUndefined({ resetsOn }), detail })
      return { error, headers: toRefusalHeaders(policy) }
    }
    // Outsiders cannot tell apart why a key is not valid.
    default:
      return invalidKey
  }
}

/** The problem response of a refusal. `instance` is the id of the request. */
export const toRefusalAnswer = (
  { error, headers }: RefusalProblem,
  instance: string
): { readonly status: number; readonly headers: Headers; readonly problem: ProblemJson } => ({
  status: error.status,
  headers: { "content-type": "application/problem+json", "x-request-id": instance, ...headers },
  problem: encodeProblem(error, instance)
})

/** The headers of the response to an allowed request. */
export const toAllowedHeaders = (decision: Allowed, clock: Pick<Clock.Clock, "currentTimeMillisUnsafe">): Headers =>
  decision.quotas === undefined && decision.rateLimits === undefined
    ? noHeaders
    : formatRateLimitHeaders(toPolicies(decision, clock.currentTimeMillisUnsafe()))
