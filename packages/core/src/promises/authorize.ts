/**
 * Decisions as promises, and as plain JSON.
 */
import { type Context, DateTime } from "effect"
import { type AuthorizeResult, makeAuthorize, makeDecide, type Refusal } from "../authorize/authorize.ts"
import type { Decide } from "../authorize/BucketDecisions.ts"
import { makeRecordDecision } from "../authorize/measureDecision.ts"
import type { KeyRefusalReason, Verified } from "../keys/Verification.ts"
import { encodeQuotas, type QuotasJson } from "../metering/model/Quota.ts"
import type { SubscriptionStatus } from "../metering/model/Subscription.ts"
import type { SubscriptionRefusal } from "../metering/usage/Usage.ts"
import type { RateLimitStatus } from "../rateLimits/RateLimitTake.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
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

/** Written by hand for speed. */
export const encodeDecision = (decision: AuthorizeResult): AuthorizeResultJson => {
  if (decision.allowed) {
    const { quotas, charge: _, ...rest } = decision
    return quotas === undefined ? rest : { ...rest, quotas: encodeQuotas(quotas) }
  }
  if (decision.reason !== "over-quota" && decision.reason !== "rate-limited") return decision
  const { policy: _, ...rest } = decision
  return rest.reason === "over-quota" ? { ...rest, resetsOn: DateTime.formatIso(rest.resetsOn) } : rest
}

/** Makes the function that decides on requests. Without `immediate`, every decision runs in a fiber. */
export const makeDecideFor = (
  services: Parameters<typeof makeAuthorize>[0],
  telemetry: TelemetryShape,
  enter: () => Context.Context<never>,
  immediate: HotPath | undefined
) => {
  const authorize = makeAuthorize(services)
  const decide = makeDecide(services)
  const record = makeRecordDecision(telemetry)
  return (bucket: KeyBucket): Decide =>
    (key, options, toResult) => {
      const start = performance.now()
      return runPossiblySync(
        () => (immediate === undefined ? authorize(bucket, key, options) : decide(bucket, key, options, immediate)),
        enter(),
        toResult,
        (exit) => record(exit, start)
      )
    }
}
