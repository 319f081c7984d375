/**
 * Whether a request of the host's own may in: an API key verified, its use counted, and what to answer otherwise. The
 * bindings for frameworks put it into their own words.
 */
import {
  type AuthorizationJson,
  type AuthorizeInput,
  requestIdFor,
  StoreConflict,
  StoreUnavailable
} from "@tollgate/core"

export interface RequireApiKeyOptions {
  readonly account: string
  readonly bucket: string
  /** What a request uses, and in which metering bucket; without it, the key is verified and nothing is counted. */
  readonly meter?: { readonly bucketId: string; readonly meters: Readonly<Record<string, number>> }
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
export interface RequestReader {
  readonly header: (name: string) => string | undefined
  readonly query: (name: string) => unknown
}

type Headers = Readonly<Record<string, string>>

export type Admission =
  | { readonly consumer: RequestConsumer; readonly headers: Headers }
  | { readonly status: Refused["status"]; readonly headers: Headers; readonly problem: object }

interface Authorizing {
  readonly authorize: (input: AuthorizeInput) => Promise<AuthorizationJson>
}

const keyIn = ({ header, query }: RequestReader, from: RequireApiKeyOptions["from"]): string => {
  if (from === undefined) return /^Bearer +(\S+) *$/i.exec(header("authorization") ?? "")?.[1] ?? ""
  const given = "header" in from ? header(from.header) : query(from.query)
  return typeof given === "string" ? given : ""
}

const secondsUntil = (moment: string): number => Math.max(1, Math.ceil((Date.parse(moment) - Date.now()) / 1000))

/** Why somebody is not let in. */
interface Refused {
  readonly status: 401 | 403 | 429 | 503
  readonly type: string
  readonly title: string
  readonly detail: string
  readonly headers: Headers
}

const refusalOf = (answer: Extract<AuthorizationJson, { readonly allowed: false }>): Refused => {
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
const away: Refused = {
  status: 503,
  type: "store-unavailable",
  title: "The store cannot be reached",
  detail: "Nothing is lost; try again in a moment",
  headers: { "retry-after": "1" }
}

/** A refusal as a problem that names the request. */
const refused = ({ status, type, title, detail, headers }: Refused, { header }: RequestReader): Admission => {
  const instance = requestIdFor(header("x-request-id"))
  return {
    status,
    headers: { "content-type": "application/problem+json", "x-request-id": instance, ...headers },
    problem: { type: `urn:tollgate:problem:${type}`, title, status, detail, instance }
  }
}

/** Asks the gate, and says whom to let in or what to answer. */
export const admit = async (
  gate: Authorizing,
  { account, bucket, meter, from }: RequireApiKeyOptions,
  request: RequestReader
): Promise<Admission> => {
  const asked = { account, bucket, key: keyIn(request, from) }
  const answer = await gate.authorize(meter === undefined ? asked : { ...asked, metering: meter }).catch((error) => {
    if (!(error instanceof StoreUnavailable || error instanceof StoreConflict)) throw error
  })
  if (answer === undefined) return refused(away, request)
  if (!answer.allowed) return refused(refusalOf(answer), request)
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
