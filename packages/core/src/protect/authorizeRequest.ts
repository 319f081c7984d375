/**
 * Decides whether a request to one of your own routes is allowed: requires a valid API key and, with `metering`, counts
 * its use. Otherwise makes the problem response. The `requireApiKey` of every framework binding is built on it.
 */
import { Clock, DateTime, Predicate } from "effect"
import { Unauthorized } from "../access/AccessError.ts"
import { parseBearerToken } from "../access/parseBearerToken.ts"
import { encodeProblem, type ProblemJson } from "../errors/defineError.ts"
import type { TollgateError } from "../errors/TollgateError.ts"
import { logRequestError, resolveRequestId } from "../http/RequestId.ts"
import { MeteringBucketNotFound } from "../metering/MeteringBucketError.ts"
import { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "../metering/QuotaError.ts"
import { type AuthorizeOptions, type AuthorizeResultJson, authorizeFields } from "../promises/authorize.ts"
import type { LocalKeyBucketHandle } from "../promises/makeLocalHandles.ts"
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import * as Options from "../runtime/Options.ts"
import { StoreConflict, StoreUnavailable } from "../store/StoreError.ts"

export interface RequireApiKeyOptions extends AuthorizeOptions {
  /** The header or query parameter that contains the key. Default: `Authorization: Bearer`. */
  readonly keyFrom?: { readonly header: string } | { readonly query: string } | undefined
  /**
   * What to do with a well-formed key while the store cannot be reached. `deny` (the default) responds with 503. `allow`
   * passes the request on, without a consumer and without counting it: use it where an outage of the store must not be
   * an outage of the route.
   */
  readonly onStoreUnavailable?: "deny" | "allow" | undefined
}

type KeyFrom = NonNullable<RequireApiKeyOptions["keyFrom"]>

/** A name that no header can have would throw in some frameworks, and find no key in the others. */
const isHeaderName = (name: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(name)

const keyFrom = Options.value((value): value is KeyFrom => {
  const [[place, name] = [], ...others] = Predicate.isObject(value) ? Object.entries(value) : []
  if (typeof name !== "string" || others.length > 0) return false
  return place === "header" ? isHeaderName(name) : place === "query" && name !== ""
}, "must be { header: name } or { query: name }")

const requireApiKeyOptions = Options.struct<RequireApiKeyOptions>()({
  keyFrom: Options.optional(keyFrom),
  onStoreUnavailable: Options.optional(Options.literals(["deny", "allow"])),
  ...authorizeFields
})

/** The consumer whose key authorized the request, as a protected route sees it. */
export interface RequestConsumer {
  /** The consumer's name. */
  readonly name: string
  readonly id: string
  readonly keyId: string
  readonly tags: Readonly<Record<string, string | number | boolean>>
  readonly metadata: Readonly<Record<string, unknown>>
  /** The remaining quota of each meter that this request used. */
  readonly remaining: Readonly<Record<string, number>>
}

/** Access to a request's headers and query parameters, for any framework. */
export interface RequestLike {
  readonly header: (name: string) => string | undefined
  readonly query: (name: string) => unknown
}

type Headers = Readonly<Record<string, string>>

export type AuthorizeRequestResult =
  | {
      readonly allowed: true
      /** `undefined` if the store cannot be reached and `onStoreUnavailable` is `allow`. */
      readonly consumer: RequestConsumer | undefined
      readonly headers: Headers
    }
  | { readonly allowed: false; readonly status: number; readonly headers: Headers; readonly problem: ProblemJson }

const extractKey = ({ header, query }: RequestLike, keyFrom: RequireApiKeyOptions["keyFrom"]): string => {
  if (keyFrom === undefined) return parseBearerToken(header("authorization")) ?? ""
  const key = "header" in keyFrom ? header(keyFrom.header) : query(keyFrom.query)
  return typeof key === "string" ? key : ""
}

/** Bindings do not run in Effect, so this is the clock that Effect programs have by default. */
const clock = Clock.Clock.defaultValue()

const secondsUntil = (timestamp: string): number =>
  Math.max(1, Math.ceil((Date.parse(timestamp) - clock.currentTimeMillisUnsafe()) / 1000))

interface Denial {
  readonly error: TollgateError
  readonly headers: Headers
}

const toDenial = (result: Extract<AuthorizeResultJson, { readonly allowed: false }>): Denial => {
  if (!("consumer" in result)) {
    return {
      error: new Unauthorized({ detail: "Send a valid API key" }),
      headers: { "www-authenticate": "Bearer" }
    }
  }
  if (result.reason !== "over-quota") {
    return { error: new SubscriptionNotActive({ detail: "Subscribe to a plan, or pay what is overdue" }), headers: {} }
  }
  const { meter, max, resetsOn } = result
  const seconds = secondsUntil(resetsOn)
  return {
    error: new QuotaExceeded({
      meter,
      max,
      resetsOn: DateTime.makeUnsafe(resetsOn),
      detail: `The quota resets on ${resetsOn}`
    }),
    // The `RateLimit` header (IETF draft): r is what remains, t the seconds until the reset.
    headers: { "retry-after": String(seconds), ratelimit: `"${meter}";r=0;t=${seconds}` }
  }
}

/** The store is unreachable, or too many requests write the same record: the client may retry. */
const toStoreDenial = (error: StoreUnavailable | StoreConflict): Denial => {
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

const toDenialResult = ({ error, headers }: Denial, instance: string): AuthorizeRequestResult => ({
  allowed: false,
  status: error.status,
  headers: { "content-type": "application/problem+json", "x-request-id": instance, ...headers },
  problem: encodeProblem(error, instance)
})

const toAllowedResult = ({
  consumer,
  keyId,
  quotas
}: Extract<AuthorizeResultJson, { readonly allowed: true }>): AuthorizeRequestResult => {
  const meters = Object.entries(quotas?.meters ?? {})
  const secondsToReset = quotas === undefined ? 0 : secondsUntil(quotas.resetsOn)
  const rateLimits = meters.map(([meter, { remaining }]) => `"${meter}";r=${remaining};t=${secondsToReset}`)
  return {
    allowed: true,
    headers: rateLimits.length === 0 ? {} : { ratelimit: rateLimits.join(", ") },
    consumer: {
      name: consumer.name,
      id: consumer.id,
      keyId,
      tags: consumer.tags,
      metadata: consumer.metadata,
      remaining: Object.fromEntries(meters.map(([meter, { remaining }]) => [meter, remaining]))
    }
  }
}

/** A key bucket of a Tollgate in process. */
export type AuthorizingKeyBucket = Pick<LocalKeyBucketHandle, "authorize">

const keyBucket = Options.value(
  (bucket): bucket is AuthorizingKeyBucket => Options.hasMethods(bucket, "authorize"),
  "must be a key bucket, such as gate.account(…).keyBucket(…)"
)

/** Validates the options once, and returns the function that authorizes each request. */
export const makeAuthorizeRequest = (
  bucket: AuthorizingKeyBucket,
  options?: RequireApiKeyOptions
): ((request: RequestLike) => Promise<AuthorizeRequestResult>) => {
  Options.decodeSync(keyBucket, bucket, "keyBucket")
  const { keyFrom, onStoreUnavailable, ...authorizeOptions } = Options.decodeSync(requireApiKeyOptions, options)
  return async (request) => {
    try {
      const result = await bucket.authorize(extractKey(request, keyFrom), authorizeOptions)
      if (result.allowed) return toAllowedResult(result)
      return toDenialResult(toDenial(result), resolveRequestId(request.header("x-request-id")))
    } catch (error) {
      if (!(error instanceof StoreUnavailable || error instanceof StoreConflict)) throw toServerError(error)
      const instance = resolveRequestId(request.header("x-request-id"))
      logRequestError(instance, error.message)
      return onStoreUnavailable === "allow"
        ? { allowed: true, consumer: undefined, headers: {} }
        : toDenialResult(toStoreDenial(error), instance)
    }
  }
}
