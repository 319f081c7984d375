/**
 * Decides whether a request to one of your own routes is allowed: requires a valid API key, and what the options of the
 * route ask for. Otherwise makes the problem response. The `requireApiKey` of every framework binding is built on it.
 */
import { Clock, DateTime, Predicate } from "effect"
import { MissingScope, Unauthorized } from "../access/AccessError.ts"
import { parseBearerToken } from "../access/parseBearerToken.ts"
import type { AuthorizeResult } from "../authorize/authorize.ts"
import { type AuthorizingKeyBucket, bucketDecisions } from "../authorize/BucketDecisions.ts"
import { makeReportOutcome, type ReportOutcome } from "../authorize/reportOutcome.ts"
import { encodeProblem, type ProblemJson } from "../errors/defineError.ts"
import { ServerBusy } from "../errors/requestErrors.ts"
import type { TollgateError } from "../errors/TollgateError.ts"
import { logRequestError, resolveRequestId } from "../http/RequestId.ts"
import { MeteringBucketNotFound } from "../metering/model/MeteringBucketError.ts"
import { encodeQuotas, type Quotas, type QuotasJson } from "../metering/model/Quota.ts"
import { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "../metering/model/QuotaError.ts"
import { type QuotaPeriod, toPolicies } from "../metering/usage/ConsumeResult.ts"
import { RateLimited } from "../rateLimits/RateLimitError.ts"
import type { RateLimitStatus } from "../rateLimits/RateLimitTake.ts"
import { formatRateLimitHeaders, formatRefusalHeaders, type HeaderPolicy } from "../rateLimits/rateLimitHeaders.ts"
import type { BackgroundTasks } from "../runtime/BackgroundTasks.ts"
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import { nextBatch } from "../runtime/nextBatch.ts"
import * as Options from "../runtime/Options.ts"
import { InvalidInput } from "../schema/InvalidInput.ts"
import { StoreConflict, StoreUnavailable } from "../store/StoreError.ts"
import { parseRouteOptions } from "./parseRouteOptions.ts"
import type { RequireApiKeyOptions } from "./RequireApiKeyOptions.ts"

/** The consumer whose key authorized the request, as a protected route sees it. */
export interface RequestConsumer {
  /** The consumer's name. */
  readonly name: string
  readonly id: string
  readonly keyId: string
  readonly tags: Readonly<Record<string, string | number | boolean>>
  readonly metadata: Readonly<Record<string, unknown>>
  /** The scopes of the key, if it has any. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** The remaining quota of each meter that this request used. */
  readonly remaining: Readonly<Record<string, number>>
  /** The subscription that the request used, with `metering`. */
  readonly subscription?: Allowed["subscription"]
  /** The quotas of the meters that the request used. */
  readonly quotas?: QuotasJson | undefined
  /** What is left of the rate limits: those of the route, then those of the plans. */
  readonly rateLimits?: Allowed["rateLimits"]
}

/** Access to a request's headers, query parameters and connection, for any framework. */
export interface RequestLike {
  readonly header: (name: string) => string | undefined
  readonly query: (name: string) => unknown
  /** The same object for all requests of a connection, so that one client does not delay the others. */
  readonly connection?: object | undefined
}

type Allowed = Extract<AuthorizeResult, { readonly allowed: true }>

type Headers = Readonly<Record<string, string>>

export type AuthorizeRequestResult =
  | {
      readonly allowed: true
      /** `undefined` if the store cannot be reached, and `onStoreUnavailable` is `allow`: the key was valid lately. */
      readonly consumer: RequestConsumer | undefined
      readonly headers: Headers
      /** Set if the request has reserved its meters: call it when the request has ended. */
      readonly reportOutcome?: ReportOutcome | undefined
    }
  | { readonly allowed: false; readonly status: number; readonly headers: Headers; readonly problem: ProblemJson }

const extractKey = ({ header, query }: RequestLike, keyFrom: RequireApiKeyOptions["keyFrom"]): string => {
  if (keyFrom === undefined) return parseBearerToken(header("authorization")) ?? ""
  const key = "header" in keyFrom ? header(keyFrom.header) : query(keyFrom.query)
  return typeof key === "string" ? key : ""
}

interface RefusalProblem {
  readonly error: TollgateError
  readonly headers: Headers
}

/**
 * The refusal of every key that is not valid, the same for all requests of a route. It says where the route expects the
 * key. No scheme is registered for keys in other places than `Authorization`: the parameters of `ApiKey` are those with
 * which OpenAPI describes such a key.
 */
const makeInvalidKeyRefusal = (keyFrom: RequireApiKeyOptions["keyFrom"]): RefusalProblem => {
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
const noRateLimits: ReadonlyArray<RateLimitStatus> = []
const noMeters: QuotasJson["meters"] = {}
const noPeriod: QuotaPeriod = { start: 0, end: 0 }

/** Bindings do not run in Effect, so this is the clock that Effect programs have by default. */
const clock = Clock.Clock.defaultValue()

const toRefusalHeaders = (policy: HeaderPolicy | undefined): Headers =>
  policy === undefined ? noHeaders : formatRefusalHeaders(policy)

const toRefusal = (
  decision: Extract<AuthorizeResult, { readonly allowed: false }>,
  invalidKey: RefusalProblem
): RefusalProblem => {
  switch (decision.reason) {
    case "missing-scope":
      return { error: new MissingScope({ scopes: decision.scopes }), headers: {} }
    case "no-subscription":
    case "subscription-not-active":
      return {
        error: new SubscriptionNotActive({ detail: "Subscribe to a plan, or pay what is overdue" }),
        headers: {}
      }
    case "rate-limited": {
      const { limit, retryAfterMs, policy } = decision
      // There is no policy if the subscription has too many requests in flight.
      const headers = {
        "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1_000))),
        ...toRefusalHeaders(policy)
      }
      return { error: new RateLimited({ limit, retryAfterMs }), headers }
    }
    case "over-quota": {
      const { meter, max, resetsOn, policy } = decision
      const detail = `The quota resets on ${DateTime.formatIso(resetsOn)}`
      const error = new QuotaExceeded({ meter, max, resetsOn, detail })
      return { error, headers: toRefusalHeaders(policy) }
    }
    // Outsiders cannot tell apart why a key is not valid.
    default:
      return invalidKey
  }
}

/** The store is unreachable, or too many requests write the same record: the client may retry. */
const toStoreRefusal = (error: StoreUnavailable | StoreConflict): RefusalProblem => {
  const outcome = error instanceof StoreUnavailable ? error.outcome : "not-applied"
  const detail = "The request was not passed on, but its use may have been counted. Try again in a moment."
  return {
    error: new StoreUnavailable(outcome === "unknown" ? { outcome, detail } : { outcome }),
    headers: { "retry-after": "1" }
  }
}

/**
 * A metering bucket or a meter that does not exist is a mistake of the server: with the error's own status, a framework
 * would blame the client, and log nothing.
 */
const toServerError = (error: unknown): unknown => {
  if (error instanceof MeteringBucketNotFound) {
    return new ConfigurationError({ option: "metering.meteringBucketId", problem: error.message })
  }
  return error instanceof UnknownMeter
    ? new ConfigurationError({ option: "metering.meters", problem: error.message })
    : error
}

const toRefusalResult = ({ error, headers }: RefusalProblem, instance: string): AuthorizeRequestResult => ({
  allowed: false,
  status: error.status,
  headers: { "content-type": "application/problem+json", "x-request-id": instance, ...headers },
  problem: encodeProblem(error, instance)
})

const toHeaders = (quotas: Quotas | undefined, rateLimits: Allowed["rateLimits"] = noRateLimits): Headers => {
  if (quotas === undefined && rateLimits.length === 0) return noHeaders
  const period =
    quotas === undefined
      ? noPeriod
      : { start: quotas.periodStart.epochMilliseconds, end: quotas.resetsOn.epochMilliseconds }
  const now = clock.currentTimeMillisUnsafe()
  return formatRateLimitHeaders(toPolicies(rateLimits, quotas?.meters ?? noMeters, period, now))
}

const toRemaining = (meters: QuotasJson["meters"] = noMeters): Record<string, number> => {
  const remaining: Record<string, number> = {}
  for (const meter in meters) remaining[meter] = meters[meter]?.remaining ?? 0
  return remaining
}

/** All consumers have the same fields, also those that are undefined: the code that reads them is faster. */
const toAllowedResult = (decision: Allowed, tasks: BackgroundTasks): AuthorizeRequestResult => {
  const { consumer, keyId, scopes, subscription, rateLimits, charge } = decision
  const { name, id, tags, metadata } = consumer
  const quotas = decision.quotas && encodeQuotas(decision.quotas)
  const remaining = toRemaining(quotas?.meters)
  return {
    allowed: true,
    consumer: { name, id, keyId, tags, metadata, scopes, remaining, subscription, quotas, rateLimits },
    headers: toHeaders(decision.quotas, rateLimits),
    reportOutcome: charge && makeReportOutcome(charge, tasks)
  }
}

const keyBucket = Options.value(
  (bucket): bucket is AuthorizingKeyBucket => Predicate.hasProperty(bucket, bucketDecisions),
  "must be a key bucket, such as gate.account(…).keyBucket(…)"
)

/**
 * Validates the options once, and returns the function that authorizes each request. `hostRequest` is the framework's
 * own request, for options that are functions.
 */
export const makeAuthorizeRequest = <HostRequest>(
  bucket: AuthorizingKeyBucket,
  options?: RequireApiKeyOptions<HostRequest>
): ((request: RequestLike, hostRequest: HostRequest) => Promise<AuthorizeRequestResult>) => {
  Options.decodeSync(keyBucket, bucket, "keyBucket")
  const { keyFrom, onStoreUnavailable, scopes, policies, limitsIn, toAuthorizeOptions } = parseRouteOptions(options)
  const { decide, context, tasks, addLimits, rememberKeys } = bucket[bucketDecisions]
  addLimits(policies, limitsIn)
  const wasValid = onStoreUnavailable === "allow" ? rememberKeys() : () => false
  const invalidKey = makeInvalidKeyRefusal(keyFrom)
  return async (request, hostRequest) => {
    const getInstance = () => resolveRequestId(request.header("x-request-id"))
    const key = extractKey(request, keyFrom)
    if (!(await nextBatch(request.connection ?? request))) {
      return toRefusalResult({ error: new ServerBusy(), headers: { "retry-after": "1" } }, getInstance())
    }
    try {
      return await decide(key, toAuthorizeOptions(hostRequest), (decision) =>
        decision.allowed
          ? toAllowedResult(decision, tasks)
          : toRefusalResult(toRefusal(decision, invalidKey), getInstance())
      )
    } catch (error) {
      if (error instanceof InvalidInput) return toRefusalResult({ error, headers: {} }, getInstance())
      if (!(error instanceof StoreUnavailable || error instanceof StoreConflict)) throw toServerError(error)
      const instance = getInstance()
      logRequestError(context, instance, error.message)
      // A key that this process does not know may be made up: a client that slows the store down could pass with any.
      return wasValid(key, scopes ?? [])
        ? { allowed: true, consumer: undefined, headers: {} }
        : toRefusalResult(toStoreRefusal(error), instance)
    }
  }
}
