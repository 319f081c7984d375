/**
 * Limits the requests to a route that needs no key, such as a sign-up. The `rateLimit` of every framework binding is built
 * on it.
 */

import { ConfigurationError, RateLimited, ServerBusy, StoreConflict, StoreUnavailable } from "@tollgate/core"
import {
  type AuthorizingKeyBucket,
  bucketDecisions,
  formatRateLimitHeaders,
  Options,
  RateLimitName,
  type RateLimitOptions,
  type RefusalProblem,
  RequestCount,
  rateLimitCheck,
  rateLimitFields,
  resolveRequestId,
  throwFromCaller,
  toLimitProblem,
  toPolicy
} from "@tollgate/core/internal"
import { Schema } from "effect"
import {
  type AuthorizeRequest,
  keyBucketOption,
  logRequestError,
  toRefusalResult,
  toStoreRefusal
} from "./authorizeRequest.ts"

/** The limit of a route without a key, and whose requests share it. */
// biome-ignore lint/suspicious/noExplicitAny: each binding says what its request is
export interface RateLimitRouteOptions<Request = any> extends Omit<RateLimitOptions, "by" | "cost"> {
  /**
   * Who sends the request, such as its address: `(req) => req.ip`. All requests for which it returns `undefined` share one
   * limit.
   */
  readonly by: (request: Request) => string | undefined
  /** Whether requests pass while the store cannot be reached. Default: `deny`, which responds with 503. */
  readonly onStoreUnavailable?: "deny" | "allow" | undefined
}

const limitOptions = Schema.Struct({
  ...rateLimitFields,
  name: Options.optional(RateLimitName),
  burst: Options.optional(RequestCount),
  by: Options.callback<RateLimitRouteOptions["by"]>(
    "must be a function that takes the request, such as (req) => req.ip"
  ),
  onStoreUnavailable: Options.optional(Options.literals(["deny", "allow"]))
}).pipe(Schema.check(rateLimitCheck))

const isNoText = (client: unknown): boolean => client !== undefined && typeof client !== "string"

/** Validates the options once, and returns the function that takes each request from the limit. */
export const makeLimitRequest = <HostRequest>(
  bucket: AuthorizingKeyBucket,
  options: RateLimitRouteOptions<HostRequest>,
  // biome-ignore lint/complexity/noBannedTypes: any function of a framework's binding
  caller?: Function
): AuthorizeRequest<HostRequest> => {
  const {
    name = "default",
    by,
    onStoreUnavailable,
    ...rateLimit
  } = throwFromCaller(caller ?? makeLimitRequest, () => {
    Options.decodeSync(keyBucketOption, bucket, "keyBucket")
    return Options.decodeSync(limitOptions, options)
  })
  const policy = toPolicy(name, rateLimit)
  const { takeFromLimit, context, batches } = bucket[bucketDecisions]
  return async (request, hostRequest) => {
    const requestId = resolveRequestId(request.header("x-request-id"))
    const refuse = (problem: RefusalProblem) => toRefusalResult(problem, requestId)
    if (!(await batches.next(request.connection ?? request))) {
      return refuse({ error: new ServerBusy(), headers: { "retry-after": "1" } })
    }
    const client = by(hostRequest)
    if (isNoText(client)) throw new ConfigurationError({ option: "by", problem: "must return a string or undefined" })
    try {
      const statuses = await takeFromLimit(policy, client ?? "")
      return { allowed: true, consumer: undefined, headers: formatRateLimitHeaders(statuses) }
    } catch (error) {
      if (error instanceof RateLimited) return refuse(toLimitProblem(error))
      if (!(error instanceof StoreUnavailable || error instanceof StoreConflict)) throw error
      logRequestError(context, requestId, error.message)
      return onStoreUnavailable === "allow"
        ? { allowed: true, consumer: undefined, headers: {} }
        : refuse(toStoreRefusal(error))
    }
  }
}
