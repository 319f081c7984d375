/**
 * `authorize` as a promise, with plain JSON as its result.
 */
import { type Context, DateTime, Effect } from "effect"
import type { AuthorizeOptions } from "../authorize/AuthorizeOptions.ts"
import { type AuthorizeResult, makeAuthorize, makeDecide, type Refusal } from "../authorize/authorize.ts"
import { makeRecordDecision } from "../authorize/measureDecision.ts"
import { makeReportOutcome, type ReportOutcome } from "../authorize/reportOutcome.ts"
import type { KeyRefusalReason, Verified } from "../keys/Verification.ts"
import { encodeQuotas, type QuotasJson } from "../metering/Quota.ts"
import type { SubscriptionStatus } from "../metering/Subscription.ts"
import type { SubscriptionRefusal } from "../metering/Usage.ts"
import type { RateLimitStatus } from "../rateLimits/RateLimitTake.ts"
import { formatRefusalHeaders, type HeaderPolicy } from "../rateLimits/rateLimitHeaders.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import type { BackgroundTasks } from "../runtime/BackgroundTasks.ts"
import type { HotPath } from "../store/HotPath.ts"
import type { TelemetryShape } from "../telemetry/Telemetry.ts"
import { runPossiblySync } from "./run.ts"

type Consumer = (typeof Verified.Encoded)["consumer"]

/** The decision on a request: allowed, with the consumer, or not, with the reason. */
export type AuthorizeResultJson =
  | {
      readonly allowed: true
      readonly consumer: Consumer
      readonly keyId: string
      /** The scopes of the key, if it has any. */
      readonly scopes?: ReadonlyArray<string> | undefined
      /** The subscription that the request used, with `metering`. */
      readonly subscription?:
        | {
            readonly id: string
            readonly status: SubscriptionStatus
            readonly planIds: ReadonlyArray<string>
            readonly subscriptionExternalId: string
            readonly customerExternalId: string
          }
        | undefined
      /** The quotas of the counted meters. */
      readonly quotas?: QuotasJson | undefined
      /** What is left of the rate limits: those of the call, then those of the plans. */
      readonly rateLimits?: ReadonlyArray<RateLimitStatus> | undefined
    }
  | { readonly allowed: false; readonly reason: KeyRefusalReason }
  | (Refusal<"missing-scope", Consumer> & {
      /** The missing ones. */
      readonly scopes: ReadonlyArray<string>
    })
  | Refusal<SubscriptionRefusal, Consumer>
  | (Refusal<"rate-limited", Consumer> & {
      /** The name of the rate limit. */
      readonly limit: string
      readonly retryAfterMs: number
    })
  | (Refusal<"over-quota", Consumer> & { readonly meter: string; readonly max: number; readonly resetsOn: string })

/**
 * Written by hand for speed. What only `requireApiKey` needs stays on the object, but hidden: the policy of a refusal, for
 * the response headers, and `reportOutcome` of a request that has reserved its meters.
 */
const encode = (result: AuthorizeResult, tasks: BackgroundTasks): AuthorizeResultJson => {
  if (result.allowed) {
    const { quotas, charge, ...rest } = result
    const encoded = quotas === undefined ? rest : { ...rest, quotas: encodeQuotas(quotas) }
    if (charge === undefined) return encoded
    return Object.defineProperty(encoded, "reportOutcome", { value: makeReportOutcome(charge, tasks) })
  }
  if (result.reason !== "over-quota" && result.reason !== "rate-limited") return result
  const { policy, ...rest } = result
  const encoded = rest.reason === "over-quota" ? { ...rest, resetsOn: DateTime.formatIso(rest.resetsOn) } : rest
  return Object.defineProperty(encoded, "policy", { value: policy })
}

/** The headers of a response to a request that a rate limit or a quota refused. */
export const getRefusalHeaders = (refusal: object): Readonly<Record<string, string>> => {
  const { policy } = refusal as { readonly policy?: HeaderPolicy | undefined }
  return policy === undefined ? {} : formatRefusalHeaders(policy)
}

/** The function to call when a request has ended, if the request has reserved its meters. */
export const getReportOutcome = (result: object): ReportOutcome | undefined =>
  (result as { readonly reportOutcome?: ReportOutcome | undefined }).reportOutcome

/** Makes the `authorize` method of key buckets. Without `immediate`, every decision runs in a fiber. */
export const makeAuthorizeMethod = (
  services: Parameters<typeof makeAuthorize>[0],
  telemetry: TelemetryShape,
  tasks: BackgroundTasks,
  enter: () => Context.Context<never>,
  immediate: HotPath | undefined
) => {
  const authorize = makeAuthorize(services)
  const decide = makeDecide(services)
  const record = makeRecordDecision(telemetry)
  return (bucket: KeyBucket) =>
    (key: string | undefined, options?: AuthorizeOptions): Promise<AuthorizeResultJson> => {
      const start = performance.now()
      // A value that is not a string is treated like any other malformed key.
      const text = typeof key === "string" ? key : ""
      return runPossiblySync(
        () =>
          Effect.mapEager(
            immediate === undefined ? authorize(bucket, text, options) : decide(bucket, text, options, immediate),
            (result) => encode(result, tasks)
          ),
        enter(),
        (exit) => record(exit, start)
      )
    }
}
