/** Why requests are refused, in words for people who answer customers. */
import type { RefusalJson } from "../../api/types.ts"

export type RefusalReason = RefusalJson["reason"]

const reasons: Readonly<Record<RefusalReason, string>> = {
  "malformed-key": "not a key of this server: cut off, or of another system",
  "unknown-key": "no such key: revoked, or of another API",
  "expired-key": "the key has expired",
  "disabled-key": "the key is disabled",
  "disabled-consumer": "the consumer is stopped",
  "ip-not-allowed": "the key may not be used from this address",
  "missing-scope": "the key lacks a scope",
  "missing-feature": "the plan lacks a feature",
  "no-subscription": "there is no subscription",
  "subscription-not-active": "the subscription is not active",
  "rate-limited": "too many requests in a short time",
  "over-quota": "the quota is used up"
}

/** What a protected route answers: 401 for a key, 403 for what it may not do, 429 for what is used up. */
export const getStatus = (reason: RefusalReason): string => {
  if (reason === "rate-limited") return "429 rate limit"
  if (reason === "over-quota") return "429 quota"
  return /key$|^disabled-consumer$/.test(reason) ? "401" : "403"
}

export const describeReason = (reason: RefusalReason): string => reasons[reason]

/** For a choice, with the code that logs and responses have. */
export const reasonOptions = [
  { value: "", label: "any reason" },
  ...Object.entries(reasons).map(([value, text]) => ({ value, label: `${value}: ${text}` }))
]
