/**
 * Decides whether a request to one of your own routes is allowed: requires a valid API key and, with `metering`, counts
 * its use. Otherwise makes the problem response. `@tollgate/express` and `@tollgate/koa` build `requireApiKey` on it.
 */
import {
  type AuthorizeInput,
  type AuthorizeOptions,
  type AuthorizeResultJson,
  ConfigurationError,
  parseBearerToken,
  StoreConflict,
  StoreUnavailable
} from "@tollgate/core"
import { checkAuthorizeOptions, logRequestError, resolveRequestId, unavailableDetail } from "@tollgate/core/internal"

/** The options of `gate.authorize`, and where to read the key from. */
export interface RequireApiKeyOptions extends AuthorizeOptions {
  /** The header or query parameter that contains the key. Default: `Authorization: Bearer`. */
  readonly keyFrom?: { readonly header: string } | { readonly query: string }
}

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
  | { readonly consumer: RequestConsumer; readonly headers: Headers }
  | { readonly status: Denial["status"]; readonly headers: Headers; readonly problem: object }

interface Authorizer {
  readonly authorize: (input: AuthorizeInput) => Promise<AuthorizeResultJson>
}

const extractKey = ({ header, query }: RequestLike, keyFrom: RequireApiKeyOptions["keyFrom"]): string => {
  if (keyFrom === undefined) return parseBearerToken(header("authorization")) ?? ""
  const key = "header" in keyFrom ? header(keyFrom.header) : query(keyFrom.query)
  return typeof key === "string" ? key : ""
}

const secondsUntil = (timestamp: string): number => Math.max(1, Math.ceil((Date.parse(timestamp) - Date.now()) / 1000))

interface Denial {
  readonly status: 401 | 403 | 429 | 503
  readonly type: string
  readonly title: string
  readonly detail: string
  readonly headers: Headers
  /** Further members of the problem (RFC 9457). */
  readonly members?: object
}

const toDenial = (result: Extract<AuthorizeResultJson, { readonly allowed: false }>): Denial => {
  if (result.reason === "invalid-key") {
    const headers = { "www-authenticate": "Bearer" }
    return { status: 401, type: "unauthorized", title: "Not authenticated", detail: "Send a valid API key", headers }
  }
  if (result.reason !== "over-quota") {
    const [title, detail] = ["Subscription not active", "Subscribe to a plan, or pay what is overdue"]
    return { status: 403, type: "subscription-not-active", title, detail, headers: {} }
  }
  const seconds = secondsUntil(result.resetsOn)
  // The `RateLimit` header (IETF draft): r is what remains, t the seconds until the reset.
  const headers = { "retry-after": String(seconds), ratelimit: `"${result.meter}";r=0;t=${seconds}` }
  const [title, detail] = ["Quota exceeded", `The quota resets on ${result.resetsOn}`]
  return { status: 429, type: "quota-exceeded", title, detail, headers }
}

/** The store is unreachable, or too many requests write the same record: the client may retry. */
const toStoreDenial = (error: StoreUnavailable | StoreConflict): Denial => {
  const outcome = error instanceof StoreUnavailable ? error.outcome : "not-applied"
  return {
    status: 503,
    type: "store-unavailable",
    title: "Store unavailable",
    detail: outcome === "unknown" ? unknownOutcomeMessage : unavailableDetail[outcome],
    headers: { "retry-after": "1" },
    members: { outcome }
  }
}

const unknownOutcomeMessage = "The request was not passed on, but its use may have been counted. Try again in a moment."

const toDenialResult = (
  { status, type, title, detail, headers, members }: Denial,
  instance: string
): AuthorizeRequestResult => ({
  status,
  headers: { "content-type": "application/problem+json", "x-request-id": instance, ...headers },
  problem: { type: `urn:tollgate:problem:${type}`, title, status, detail, instance, ...members }
})

const validateKeyFrom = (keyFrom: unknown): string | undefined => {
  if (keyFrom === undefined) return undefined
  const entries = typeof keyFrom === "object" && keyFrom !== null ? Object.entries(keyFrom) : []
  const [[location, name] = ["", ""]] = entries
  const hasOneLocation = entries.length === 1 && (location === "header" || location === "query")
  const isValid = hasOneLocation && typeof name === "string" && name !== ""
  return isValid ? undefined : "expected { header: name } or { query: name }"
}

/** Validates the options once, and returns the function that authorizes each request. */
export const makeAuthorizeRequest = (
  gate: Authorizer,
  options: RequireApiKeyOptions
): ((request: RequestLike) => Promise<AuthorizeRequestResult>) => {
  if (typeof gate?.authorize !== "function") {
    throw new ConfigurationError({ option: "gate", problem: "expected the result of `await createTollgate(…)`" })
  }
  const invalidOption = checkAuthorizeOptions(options ?? {}, ["keyFrom"])
  if (invalidOption !== undefined) throw invalidOption
  const problem = validateKeyFrom(options.keyFrom)
  if (problem !== undefined) throw new ConfigurationError({ option: "keyFrom", problem })
  const { account, bucket, metering, keyFrom } = options
  return (request) =>
    authorizeRequest(gate, { account, bucket, ...(metering === undefined ? {} : { metering }) }, keyFrom, request)
}

const authorizeRequest = async (
  gate: Authorizer,
  options: AuthorizeOptions,
  keyFrom: RequireApiKeyOptions["keyFrom"],
  request: RequestLike
): Promise<AuthorizeRequestResult> => {
  const getRequestId = () => resolveRequestId(request.header("x-request-id"))
  let result: AuthorizeResultJson
  try {
    result = await gate.authorize({ ...options, key: extractKey(request, keyFrom) })
  } catch (error) {
    if (!(error instanceof StoreUnavailable || error instanceof StoreConflict)) throw error
    const instance = getRequestId()
    logRequestError(instance, error.message)
    return toDenialResult(toStoreDenial(error), instance)
  }
  if (!result.allowed) return toDenialResult(toDenial(result), getRequestId())
  const { consumer, keyId, quotas } = result
  const meters = Object.entries(quotas?.meters ?? {})
  const secondsToReset = quotas === undefined ? 0 : secondsUntil(quotas.resetsOn)
  const rateLimits = meters.map(([meter, { remaining }]) => `"${meter}";r=${remaining};t=${secondsToReset}`)
  return {
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
