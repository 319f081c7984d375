import type { Change } from "@tollgate/store/internal"
import type { RateLimitTake } from "../../rateLimits/RateLimitTake.ts"
import type { Features } from "../model/Features.ts"
import type { UsedBy } from "../model/Labels.ts"
import type { Amounts } from "../model/Quota.ts"
import type { ReservationId } from "../model/Reservation.ts"

/** What a request asks for: amounts of meters, and rate limits beside those of the plans. */
export interface CountRequest {
  readonly amounts: Amounts
  readonly rateLimitTakes: ReadonlyArray<RateLimitTake>
  /**
   * `record` counts after the fact, in any status of the subscription. It neither takes from rate limits nor refuses because
   * of a quota.
   */
  readonly kind: "consume" | "record" | NewReservation
  /** The features that the customer must have. */
  readonly requiredFeatures?: ReadonlyArray<string> | undefined
  /** The features that it has. */
  readonly features?: Features | undefined
  /** Whose key uses it, and what for. */
  readonly usedBy?: UsedBy | undefined
  /** A further change, committed with the count. */
  readonly change?: Change | undefined
}

/** A reservation to make. */
export interface NewReservation {
  readonly id: ReservationId
  readonly expiresInMs: number
}
