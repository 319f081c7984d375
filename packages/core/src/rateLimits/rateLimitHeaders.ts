/**
 * The headers `RateLimit-Policy` and `RateLimit` (IETF draft): the limits and quotas of a request, and what is left of
 * each.
 */

/** A rate limit or a quota, as the headers describe it. */
export interface HeaderPolicy {
  readonly name: string
  readonly limit: number
  /** The time in which it applies, in milliseconds. `undefined` if it never resets. */
  readonly per: number | undefined
  readonly remaining: number
  /** Milliseconds until all of it is available again. `undefined` if it never is. */
  readonly resetAfterMs: number | undefined
}

/** The largest integer of a structured header field (RFC 9651). */
const maxInteger = 999_999_999_999_999

const formatInteger = (value: number): string => String(Math.min(maxInteger, Math.max(0, Math.floor(value))))

/** Clients accept about 16 KB of headers in all. Policies that do not fit into this many characters are left out. */
const maxHeaderLength = 3_000

/** No headers if there is no policy. */
export const formatRateLimitHeaders = (policies: ReadonlyArray<HeaderPolicy>): Readonly<Record<string, string>> => {
  let [declared, states] = ["", ""]
  for (const { name, limit, per, remaining, resetAfterMs } of policies) {
    const separator = declared === "" ? "" : ", "
    const window = per === undefined ? "" : `;w=${formatInteger(Math.ceil(per / 1_000))}`
    const reset = resetAfterMs === undefined ? "" : `;t=${formatInteger(Math.ceil(resetAfterMs / 1_000))}`
    const declaration = `"${name}";q=${formatInteger(limit)}${window}`
    const state = `"${name}";r=${formatInteger(remaining)}${reset}`
    if (Math.max(declared.length + declaration.length, states.length + state.length) + 2 > maxHeaderLength) break
    declared += separator + declaration
    states += separator + state
  }
  return declared === "" ? {} : { "ratelimit-policy": declared, ratelimit: states }
}

/** The headers of a refusal: the policy that refused, and when to try again. Its `resetAfterMs` is the time to wait. */
export const formatRefusalHeaders = (policy: HeaderPolicy): Readonly<Record<string, string>> => {
  if (policy.resetAfterMs === undefined) return formatRateLimitHeaders([policy])
  const seconds = Math.max(1, Math.ceil(policy.resetAfterMs / 1_000))
  return { "retry-after": String(seconds), ...formatRateLimitHeaders([{ ...policy, resetAfterMs: seconds * 1_000 }]) }
}
