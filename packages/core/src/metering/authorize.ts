/**
 * Verifies an API key and counts usage in one call. A server calls it for each request that it protects.
 */
import { type DateTime, Effect } from "effect"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import type { KeyRefusalReason, Verified } from "../keys/Verification.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import type { StoreError } from "../store/StoreError.ts"
import type { MeteringBucketNotFound } from "./MeteringBucketError.ts"
import type { Amounts, Quotas } from "./Quota.ts"
import type { UnknownMeter } from "./QuotaError.ts"
import type { Usage } from "./Usage.ts"

export interface AuthorizeRequest {
  readonly bucket: KeyBucket
  readonly key: string
  readonly metering?: { readonly meteringBucketId: string; readonly meters: Amounts }
}

export type AuthorizeResult =
  | {
      readonly allowed: true
      readonly consumer: Verified["consumer"]
      readonly keyId: string
      /** The quotas of the counted meters. */
      readonly quotas?: Quotas | undefined
    }
  | { readonly allowed: false; readonly reason: KeyRefusalReason }
  | {
      readonly allowed: false
      readonly reason: "no-subscription" | "subscription-not-active"
      readonly consumer: Verified["consumer"]
    }
  | {
      readonly allowed: false
      readonly reason: "over-quota"
      readonly consumer: Verified["consumer"]
      readonly meter: string
      readonly max: number
      readonly resetsOn: DateTime.Utc
    }

export const makeAuthorize =
  (keys: ApiKeys["Service"], usage: Usage["Service"]) =>
  ({
    bucket,
    key,
    metering
  }: AuthorizeRequest): Effect.Effect<AuthorizeResult, StoreError | MeteringBucketNotFound | UnknownMeter> =>
    Effect.flatMap(
      keys.verifyKey(bucket, key),
      (verification): Effect.Effect<AuthorizeResult, StoreError | MeteringBucketNotFound | UnknownMeter> => {
        if (!verification.valid) return Effect.succeed({ allowed: false, reason: verification.reason })
        const { consumer, keyId } = verification
        if (metering === undefined) return Effect.succeed({ allowed: true, consumer, keyId })
        return usage
          .consumeForCustomer(bucket.accountName, metering.meteringBucketId, consumer.name, metering.meters)
          .pipe(
            Effect.map(
              (outcome): AuthorizeResult =>
                typeof outcome === "string"
                  ? { allowed: false, reason: outcome, consumer }
                  : { allowed: true, consumer, keyId, quotas: outcome }
            ),
            Effect.catchTags({
              QuotaExceeded: ({ meter, max, resetsOn }) =>
                Effect.succeed<AuthorizeResult>({
                  allowed: false,
                  reason: "over-quota",
                  consumer,
                  meter,
                  max,
                  resetsOn
                }),
              SubscriptionNotActive: () =>
                Effect.succeed<AuthorizeResult>({ allowed: false, reason: "subscription-not-active", consumer }),
              IdempotencyKeyReused: Effect.die,
              ReplayUnavailable: Effect.die
            })
          )
      }
    )
