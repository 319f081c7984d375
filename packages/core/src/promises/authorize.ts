/**
 * Decisions as promises, and as plain JSON.
 */

import type { HotPath } from "@tollgate/store/internal"
import { formatTimestamp, runPossiblySync } from "@tollgate/store/internal"
import { DateTime } from "effect"
import { makeDecide } from "../authorize/authorize.ts"
import type { Decide } from "../authorize/BucketDecisions.ts"
import type { AuthorizeResult, Refusal, Refused, ReservationHandle } from "../authorize/Decision.ts"
import type { DecisionObserver } from "../authorize/DecisionObservers.ts"
import { decideInFiber, type makeAuthorize } from "../authorize/makeAuthorize.ts"
import type { KeyRefusalReason, Verified } from "../keys/Verification.ts"
import { encodeQuotas, type QuotasJson } from "../metering/model/Quota.ts"
import type { SubscriptionStatus } from "../metering/model/Subscription.ts"
import type { SubscriptionRefusal } from "../metering/usage/SubscriptionRefusal.ts"
import type { RateLimitStatus } from "../rateLimits/RateLimitTake.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import type { HostContext } from "../telemetry/makeHostContext.ts"
import type { TelemetryShape } from "../telemetry/Telemetry.ts"

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
      /** The features of the customer, if it has any, with `metering`. */
      readonly features?: Readonly<Record<string, true | number | string>> | undefined
      /** The quotas of the counted meters. */
      readonly quotas?: QuotasJson | undefined
      /** What was reserved, with `reserve`: settle it with `usage.settle`. */
      readonly reservation?: { readonly id: string; readonly expiresOn: string } | undefined
      /** What is left of the rate limits: those of the call, then those of the plans. */
      readonly rateLimits?: ReadonlyArray<RateLimitStatus> | undefined
    }
  | { readonly allowed: false; readonly reason: KeyRefusalReason }
  | Refusal<"ip-not-allowed", Consumer>
  | (Refusal<"missing-scope", Consumer> & {
      /** The missing ones. */
      readonly scopes: ReadonlyArray<string>
    })
  | Refusal<SubscriptionRefusal, Consumer>
  | (Refusal<"missing-feature", Consumer> & {
      /** The missing ones. */
      readonly features: ReadonlyArray<string>
    })
  | (Refusal<"rate-limited", Consumer> & {
      /** The name of the rate limit. */
      readonly limit: string
      readonly retryAfterMs: number
    })
  | (Refusal<"over-quota", Consumer> & {
      readonly meter: string
      readonly max: number
      /** Absent if the quota never resets. */
      readonly resetsOn?: string
    })

const encodeReservation = ({ id, expiresOn }: ReservationHandle) => ({ id, expiresOn: formatTimestamp(expiresOn) })

export const encodeRefusal = (decision: Refused): Extract<AuthorizeResultJson, { readonly allowed: false }> => {
  if (decision.reason !== "over-quota" && decision.reason !== "rate-limited") return decision
  const { policy: _, ...rest } = decision
  if (rest.reason === "rate-limited") return rest
  const { resetsOn, ...quota } = rest
  return resetsOn === undefined ? quota : { ...quota, resetsOn: DateTime.formatIso(resetsOn) }
}

/** Written by hand for speed. */
export const encodeDecision = (decision: AuthorizeResult): AuthorizeResultJson => {
  if (decision.allowed) {
    const { quotas, charge: _, reservation, ...rest } = decision
    if (quotas === undefined) return rest
    const counted = { ...rest, quotas: encodeQuotas(quotas) }
    return reservation === undefined ? counted : { ...counted, reservation: encodeReservation(reservation) }
  }
  return encodeRefusal(decision)
}

/** Makes the function that decides on requests. Without a hot path, every decision runs in a fiber, with a span. */
export const makeDecideFor = (
  { store, ...services }: Parameters<typeof makeAuthorize>[0],
  telemetry: TelemetryShape,
  observers: ReadonlyArray<DecisionObserver>,
  { context, withActiveSpan }: HostContext,
  hotPath: HotPath | undefined
) => {
  const { decide } = makeDecide(services, telemetry, observers)
  const decideWithSpan = decideInFiber(decide, store)
  return (bucket: KeyBucket): Decide =>
    (key, options, toResult, source) =>
      hotPath === undefined
        ? runPossiblySync(decideWithSpan(bucket, key, options, source), withActiveSpan(context), toResult)
        : runPossiblySync(decide(bucket, key, options, hotPath, source), context, toResult)
}
