/**
 * The decision about a request.
 */

import type { InvalidInput, StoreError } from "@tollgate/store/internal"
import type { DateTime, Effect } from "effect"
import type { KeyRefusalReason, Verified } from "../keys/Verification.ts"
import type { Features } from "../metering/model/Features.ts"
import type { MeteringBucketNotFound } from "../metering/model/MeteringBucketError.ts"
import type { Amounts, Quotas } from "../metering/model/Quota.ts"
import type { UnknownMeter } from "../metering/model/QuotaError.ts"
import type { Reservation } from "../metering/model/Reservation.ts"
import type { UsedSubscription } from "../metering/model/UsedSubscription.ts"
import type { SubscriptionRefusal } from "../metering/usage/SubscriptionRefusal.ts"
import type { RateLimitStatus } from "../rateLimits/RateLimitTake.ts"
import type { HeaderPolicy } from "../rateLimits/rateLimitHeaders.ts"

export interface Allowed {
  readonly allowed: true
  readonly consumer: Verified["consumer"]
  readonly keyId: string
  /** The scopes of the key, if it has any. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** The subscription that the request used, with `metering`. */
  readonly subscription?: UsedSubscription | undefined
  /** The features of the customer, if it has any, with `metering`. */
  readonly features?: Features | undefined
  /** The quotas of the counted meters. */
  readonly quotas?: Quotas | undefined
  /** What is left of the rate limits: those of the call, then those of the plans. */
  readonly rateLimits?: ReadonlyArray<RateLimitStatus> | undefined
  /** What was reserved, with `reserve`: settle or release it when the work is done. */
  readonly reservation?: ReservationHandle | undefined
  /** Charges the request, or not, if its meters were only reserved. */
  readonly charge?: RequestCharge | undefined
}

/** An open reservation. */
export type ReservationHandle = Pick<Reservation, "id" | "expiresOn">

/** Ends the reservation of a request. Only the first of `settle` and `release` has an effect. */
export interface RequestCharge {
  readonly reservationId: string
  /** What is reserved. */
  readonly meters: Amounts
  /** Whether a request is charged of whose response only a part was sent. */
  readonly includesPartial: boolean
  /** Whether the route may say what the request has used. */
  readonly isSettledByRoute: boolean
  /** Counts what was used, at most what is reserved, also if the reservation has expired. */
  readonly settle: (used: Amounts) => Effect.Effect<void, unknown>
  readonly release: Effect.Effect<void, unknown>
  /** Counts once what was used although the reservation was released. */
  readonly countReleased: (used: Amounts) => Effect.Effect<void, unknown>
}

/** A refusal of a valid key. */
export interface Refusal<Reason extends string, Consumer = Verified["consumer"]> {
  readonly allowed: false
  readonly reason: Reason
  readonly consumer: Consumer
  readonly keyId: string
}

/** The decision about a request: allowed, with the consumer and what was counted, or refused, with the reason. */
export type AuthorizeResult =
  | Allowed
  | { readonly allowed: false; readonly reason: KeyRefusalReason }
  | Refusal<"ip-not-allowed">
  /** `scopes`: the missing ones. */
  | (Refusal<"missing-scope"> & { readonly scopes: ReadonlyArray<string> })
  | Refusal<SubscriptionRefusal>
  /** `features`: the missing ones. */
  | (Refusal<"missing-feature"> & { readonly features: ReadonlyArray<string> })
  /** `limit`: the name of the rate limit. */
  | (Refusal<"rate-limited"> & {
      readonly limit: string
      readonly retryAfterMs: number
      readonly policy?: HeaderPolicy | undefined
    })
  | (Refusal<"over-quota"> & {
      readonly meter: string
      readonly max: number
      /** Absent if the quota never resets. */
      readonly resetsOn?: DateTime.Utc
      readonly policy?: HeaderPolicy | undefined
    })

export type Refused = Extract<AuthorizeResult, { readonly allowed: false }>

/** What `authorize` fails with if it cannot decide. A refusal is a result, not an error. */
export type AuthorizeError = StoreError | MeteringBucketNotFound | UnknownMeter | InvalidInput
