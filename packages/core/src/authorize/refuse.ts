import type { StoreConflict } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { Verified } from "../keys/Verification.ts"
import type { CustomerCountError } from "../metering/usage/Usage.ts"
import type { AuthorizeError, AuthorizeResult } from "./Decision.ts"

export interface Tagged {
  readonly _tag: string
}

/** Refusals are results; all other errors fail. */
export const refuse = <E extends Tagged>(
  failure: CustomerCountError | StoreConflict | E,
  { consumer, keyId }: Verified
): Effect.Effect<AuthorizeResult, AuthorizeError | E> => {
  const refusal = { allowed: false, consumer, keyId } as const
  // The further errors have other tags.
  const error = failure as CustomerCountError | StoreConflict
  switch (error._tag) {
    case "RateLimited": {
      const { limit, retryAfterMs, policy } = error
      return Effect.succeed({ ...refusal, reason: "rate-limited", limit, retryAfterMs, policy })
    }
    case "QuotaExceeded": {
      const { meter, max, resetsOn, policy } = error
      const reset = resetsOn === undefined ? {} : { resetsOn }
      return Effect.succeed({ ...refusal, reason: "over-quota", meter, max, ...reset, policy })
    }
    case "ReservationLimit":
      return Effect.succeed({ ...refusal, reason: "rate-limited", limit: "open-reservations", retryAfterMs: 1_000 })
    case "MissingFeature":
      return Effect.succeed({ ...refusal, reason: "missing-feature", features: error.features })
    case "SubscriptionNotActive":
      return Effect.succeed({ ...refusal, reason: "subscription-not-active" })
    default:
      return Effect.fail(error)
  }
}
