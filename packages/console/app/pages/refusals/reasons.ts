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

/** What helps the customer. */
const remedies: Readonly<Record<RefusalReason, string>> = {
  "malformed-key": "Ask the customer to copy the whole key again, or create another one.",
  "unknown-key": "Create another key for the customer.",
  "expired-key": "Create another key, or edit when this one expires.",
  "disabled-key": "Enable the key, if it may be used again.",
  "disabled-consumer": "Let the consumer call again, if it may.",
  "ip-not-allowed": "Ask the customer to call from an address that the key allows, or create another key.",
  "missing-scope": "The customer needs a key with this scope.",
  "missing-feature": "Change the plan, or override the feature.",
  "no-subscription": "Give the customer a plan.",
  "subscription-not-active": "Choose a plan for the customer again.",
  "rate-limited": "It works again in a moment. For more, change the plan or override the limit.",
  "over-quota": "Give credit, change the plan or override the limit. Otherwise it works again when the quota resets."
}

/** What a protected route answers: 401 for a key, 403 for what it may not do, 429 for what is used up. */
export const getStatus = (reason: RefusalReason): string => {
  if (reason === "rate-limited") return "429 rate limit"
  if (reason === "over-quota") return "429 quota"
  return /key$|^disabled-consumer$/.test(reason) ? "401" : "403"
}

export const describeReason = (reason: RefusalReason): string => reasons[reason]

export const describeRemedy = (reason: RefusalReason): string => remedies[reason]

/** For a choice, with the code that logs and responses have. */
export const reasonOptions = [
  { value: "", label: "any reason" },
  ...Object.entries(reasons).map(([value, text]) => ({ value, label: `${value}: ${text}` }))
]
