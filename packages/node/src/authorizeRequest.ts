/**
 * Whether a request of the host's own may in: an API key verified, its use counted, and what to answer otherwise. The
 * bindings for frameworks put it into their own words.
 */
import {
  type AuthorizeInput,
  type AuthorizeOptions,
  type AuthorizeResultJson,
  ConfigurationError,
  checkAuthorizeOptions,
  logRequestError,
  parseBearer,
  requestIdFor,
  StoreConflict,
  StoreUnavailable,
  unavailableDetail
} from "@tollgate/core"

/** The options of `authorize`, and where the key is. */
export interface RequireApiKeyOptions extends AuthorizeOptions {
  /** Where the key is: `Authorization: Bearer`, unless a header or a query parameter is named. */
  readonly from?: { readonly header: string } | { readonly query: string }
}

/** Who is calling, as a protected route finds it. */
export interface RequestConsumer {
  /** The consumer's name. */
  readonly sub: string
  readonly id: string
  readonly keyId: string
  readonly tags: Readonly<Record<string, string | number | boolean>>
  readonly metadata: Readonly<Record<string, unknown>>
  /** What is left of the meters that were used. */
  readonly remaining: Readonly<Record<string, number>>
}

/** How a framework gives a request's headers and query. */
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

const extractKey = ({ header, query }: RequestLike, from: RequireApiKeyOptions["from"]): string => {
  if (from === undefined) return parseBearer(header("authorization")) ?? ""
  const given = "header" in from ? header(from.header) : query(from.query)
  return typeof given === "string" ? given : ""
}

const secondsUntil = (moment: string): number => Math.max(1, Math.ceil((Date.parse(moment) - Date.now()) / 1000))

/** Why somebody is not let in. */
interface Denial {
  readonly status: 401 | 403 | 429 | 503
  readonly type: string
  readonly title: string
  readonly detail: string
  readonly headers: Headers
  readonly members?: object
}

const denialFor = (answer: Extract<AuthorizeResultJson, { readonly allowed: false }>): Denial => {
  if (answer.reason === "invalid-key") {
    const headers = { "www-authenticate": "Bearer" }
    return { status: 401, type: "unauthorized", title: "Not authenticated", detail: "Send a valid API key", headers }
  }
  if (answer.reason !== "over-quota") {
    const [title, detail] = ["No active subscription", "Subscribe, or settle what is due"]
    return { status: 403, type: "subscription-not-active", title, detail, headers: {} }
  }
  const seconds = secondsUntil(answer.resetsOn)
  const headers = { "retry-after": String(seconds), ratelimit: `"${answer.meter}";r=0;t=${seconds}` }
  const [title, detail] = ["The quota is used up", `It resets on ${answer.resetsOn}`]
  return { status: 429, type: "quota-exceeded", title, detail, headers }
}

/** The store does not answer, or too many write the same: neither is the caller's fault, nor the host's. */
const storeUnavailable = (error: StoreUnavailable | StoreConflict): Denial => {
  const outcome = error instanceof StoreUnavailable ? error.outcome : "not-applied"
  return {
    status: 503,
    type: "store-unavailable",
    title: "The store cannot be reached",
    detail: outcome === "unknown" ? countUnknown : unavailableDetail[outcome],
    headers: { "retry-after": "1" },
    members: { outcome }
  }
}

const countUnknown = "The request was not passed on. Its use may have been counted; try again in a moment."

/** A refusal as a problem that names the request. */
const toDenialResult = (
  { status, type, title, detail, headers, members }: Denial,
  instance: string
): AuthorizeRequestResult => ({
  status,
  headers: { "content-type": "application/problem+json", "x-request-id": instance, ...headers },
  problem: { type: `urn:tollgate:problem:${type}`, title, status, detail, instance, ...members }
})

const fromProblem = (from: unknown): string | undefined => {
  if (from === undefined) return undefined
  const names = typeof from === "object" && from !== null ? Object.entries(from) : []
  const [[where, name] = ["", ""]] = names
  const isOne = names.length === 1 && (where === "header" || where === "query")
  return isOne && typeof name === "string" && name !== "" ? undefined : "give { header: name } or { query: name }"
}

/** Checks the options once; the result decides for every request whether to let it in or what to answer. */
export const makeAuthorizeRequest = (
  gate: Authorizer,
  options: RequireApiKeyOptions
): ((request: RequestLike) => Promise<AuthorizeRequestResult>) => {
  if (typeof gate?.authorize !== "function") {
    throw new ConfigurationError({ option: "gate", problem: "give the result of await createTollgate(…)" })
  }
  const invalidOption = checkAuthorizeOptions(options ?? {}, ["from"])
  if (invalidOption !== undefined) throw invalidOption
  const problem = fromProblem(options.from)
  if (problem !== undefined) throw new ConfigurationError({ option: "from", problem })
  const { account, bucket, metering, from } = options
  return (request) =>
    authorizeRequest(gate, { account, bucket, ...(metering === undefined ? {} : { metering }) }, from, request)
}

const authorizeRequest = async (
  gate: Authorizer,
  options: AuthorizeOptions,
  from: RequireApiKeyOptions["from"],
  request: RequestLike
): Promise<AuthorizeRequestResult> => {
  const requestId = () => requestIdFor(request.header("x-request-id"))
  let answer: AuthorizeResultJson
  try {
    answer = await gate.authorize({ ...options, key: extractKey(request, from) })
  } catch (error) {
    if (!(error instanceof StoreUnavailable || error instanceof StoreConflict)) throw error
    const instance = requestId()
    logRequestError(instance, error.message)
    return toDenialResult(storeUnavailable(error), instance)
  }
  if (!answer.allowed) return toDenialResult(denialFor(answer), requestId())
  const { consumer, keyId, quotas } = answer
  const meters = Object.entries(quotas?.meters ?? {})
  const reset = quotas === undefined ? 0 : secondsUntil(quotas.resetsOn)
  const limits = meters.map(([meter, { remaining }]) => `"${meter}";r=${remaining};t=${reset}`)
  return {
    headers: limits.length === 0 ? {} : { ratelimit: limits.join(", ") },
    consumer: {
      sub: consumer.name,
      id: consumer.id,
      keyId,
      tags: consumer.tags,
      metadata: consumer.metadata,
      remaining: Object.fromEntries(meters.map(([meter, { remaining }]) => [meter, remaining]))
    }
  }
}
