/**
 * Decides whether a request is allowed, as one decision: verifies the key, checks its scopes and its subscription, takes
 * from rate limits and counts meters. The first refusal wins, and then nothing is taken or counted. A server calls it
 * for each request that it protects.
 */
import { type DateTime, Effect } from "effect"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import { findMissingScopes } from "../keys/scopes.ts"
import type { KeyRefusalReason, Verified } from "../keys/Verification.ts"
import type { UsedSubscription } from "../metering/ConsumeResult.ts"
import type { MeteringBucketNotFound } from "../metering/MeteringBucketError.ts"
import type { Amounts, Quotas } from "../metering/Quota.ts"
import type { QuotaExceeded, UnknownMeter } from "../metering/QuotaError.ts"
import type { DenyReason, Usage } from "../metering/Usage.ts"
import type { RateLimited } from "../rateLimits/RateLimitError.ts"
import {
  makeUse,
  type RateLimitStatus,
  type RateLimitSubject,
  type RateLimitUse,
  toRateLimited,
  toStatuses
} from "../rateLimits/RateLimitUse.ts"
import type { HeaderPolicy } from "../rateLimits/rateLimitHeaders.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import type { InvalidInput } from "../schema/InvalidInput.ts"
import type { Store } from "../store/Store.ts"
import { StoreConflict, type StoreError } from "../store/StoreError.ts"
import {
  type AppliedRateLimit,
  type AuthorizeOptions,
  type ParsedAuthorizeOptions,
  parseAuthorizeOptions
} from "./AuthorizeOptions.ts"

interface Allowed {
  readonly allowed: true
  readonly consumer: Verified["consumer"]
  readonly keyId: string
  /** The scopes of the key, if it has any. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** The subscription that the request used, with `metering`. */
  readonly subscription?: UsedSubscription | undefined
  /** The quotas of the counted meters. */
  readonly quotas?: Quotas | undefined
  /** What is left of the rate limits: those of the call, then those of the plans. */
  readonly rateLimits?: ReadonlyArray<RateLimitStatus> | undefined
}

/** A refusal of a valid key. */
interface RefusalOf<Reason extends string> {
  readonly allowed: false
  readonly reason: Reason
  readonly consumer: Verified["consumer"]
  readonly keyId: string
}

export type AuthorizeResult =
  | Allowed
  | { readonly allowed: false; readonly reason: KeyRefusalReason }
  /** `scopes`: the missing ones. */
  | (RefusalOf<"missing-scope"> & { readonly scopes: ReadonlyArray<string> })
  | RefusalOf<DenyReason>
  /** `limit`: the name of the rate limit. */
  | (RefusalOf<"rate-limited"> & {
      readonly limit: string
      readonly retryAfterMs: number
      readonly policy?: HeaderPolicy | undefined
    })
  | (RefusalOf<"over-quota"> & {
      readonly meter: string
      readonly max: number
      readonly resetsOn: DateTime.Utc
      readonly policy?: HeaderPolicy | undefined
    })

export type AuthorizeError = StoreError | MeteringBucketNotFound | UnknownMeter | InvalidInput

const toSubject = (by: AppliedRateLimit["by"], { consumer, keyId }: Verified): RateLimitSubject => {
  if (by === "consumer") return { kind: "consumer", id: consumer.id }
  return by === "key" ? { kind: "key", id: keyId } : { kind: "value", id: by.value }
}

const noUses: ReadonlyArray<RateLimitUse> = []
const noAmounts: Amounts = {}

/** The change for each limit of a call. Limits that turn out to be one and the same are taken from once. */
const toUses = (rateLimits: ReadonlyArray<AppliedRateLimit>, verified: Verified): ReadonlyArray<RateLimitUse> => {
  if (rateLimits.length === 0) return noUses
  const uses = rateLimits.map(({ policy, by, cost }) => makeUse(policy, toSubject(by, verified), cost))
  if (uses.length === 1) return uses
  const byCounter = new Map<string, RateLimitUse>()
  for (const use of uses) {
    const { counter, cost } = use.change
    if ((byCounter.get(counter)?.change.cost ?? 0) < cost) byCounter.set(counter, use)
  }
  return [...byCounter.values()]
}

interface Services {
  readonly store: Store["Service"]
  readonly keys: ApiKeys["Service"]
  readonly usage: Usage["Service"]
}

export const makeAuthorize = ({ store, keys, usage }: Services) => {
  /** Takes from rate limits that are counted in the key bucket's partition. */
  const takeFromLimits = (bucket: KeyBucket, uses: ReadonlyArray<RateLimitUse>) =>
    Effect.matchEffect(
      store.commit(
        getKeyBucketPartition(bucket),
        uses.map(({ change }) => change)
      ),
      {
        onSuccess: (commitResult) => Effect.succeed({ rateLimits: toStatuses(uses, commitResult) }),
        onFailure: (error) =>
          Effect.fail((error instanceof StoreConflict ? toRateLimited(uses, error) : undefined) ?? error)
      }
    )

  const decide = (
    bucket: KeyBucket,
    verified: Verified,
    { scopes, rateLimits, metering }: ParsedAuthorizeOptions
  ): Effect.Effect<AuthorizeResult, AuthorizeError> => {
    const { consumer, keyId } = verified
    if (scopes.length > 0) {
      const missing = findMissingScopes(verified.scopes, scopes)
      if (missing.length > 0) {
        return Effect.succeed({ allowed: false, reason: "missing-scope", consumer, keyId, scopes: missing })
      }
    }
    const uses = toUses(rateLimits, verified)
    const allowed = {
      allowed: true,
      consumer,
      keyId,
      ...(verified.scopes === undefined ? {} : { scopes: verified.scopes })
    } as const
    if (metering === undefined) {
      if (uses.length === 0) return Effect.succeed(allowed)
      return Effect.matchEffect(takeFromLimits(bucket, uses), {
        onSuccess: (taken) => Effect.succeed({ ...allowed, ...taken }),
        onFailure: (error) => refuse(error, verified)
      })
    }
    const { meteringBucketId, meters } = metering
    const demand = { amounts: meters ?? noAmounts, rateLimitUses: uses }
    return Effect.matchEffect(usage.consumeForCustomer(bucket.accountName, meteringBucketId, consumer.name, demand), {
      onSuccess: (outcome): Effect.Effect<AuthorizeResult> => {
        if (typeof outcome === "string") return Effect.succeed({ allowed: false, reason: outcome, consumer, keyId })
        const { subscription, quotas, rateLimits = [] } = outcome
        return Effect.succeed({
          ...allowed,
          subscription,
          ...(meters === undefined ? {} : { quotas }),
          ...(rateLimits.length === 0 ? {} : { rateLimits })
        })
      },
      onFailure: (error) => refuse(error, verified)
    })
  }

  return (
    bucket: KeyBucket,
    key: string,
    options?: AuthorizeOptions | ParsedAuthorizeOptions
  ): Effect.Effect<AuthorizeResult, AuthorizeError> =>
    Effect.flatMap(parseAuthorizeOptions(options), (parsed) =>
      Effect.flatMap(
        keys.verifyKey(bucket, key),
        (check): Effect.Effect<AuthorizeResult, AuthorizeError> =>
          check.valid ? decide(bucket, check, parsed) : Effect.succeed({ allowed: false, reason: check.reason })
      )
    )
}

type UsageError = Effect.Error<ReturnType<Usage["Service"]["consumeForCustomer"]>> | RateLimited | QuotaExceeded

/** Refusals are results; all other errors fail. */
const refuse = (error: UsageError, { consumer, keyId }: Verified): Effect.Effect<AuthorizeResult, AuthorizeError> => {
  switch (error._tag) {
    case "RateLimited": {
      const { limit, retryAfterMs, policy } = error
      return Effect.succeed({ allowed: false, reason: "rate-limited", consumer, keyId, limit, retryAfterMs, policy })
    }
    case "QuotaExceeded": {
      const { meter, max, resetsOn, policy } = error
      return Effect.succeed({ allowed: false, reason: "over-quota", consumer, keyId, meter, max, resetsOn, policy })
    }
    case "SubscriptionNotActive":
      return Effect.succeed({ allowed: false, reason: "subscription-not-active", consumer, keyId })
    case "IdempotencyKeyReused":
    case "ReplayUnavailable":
      return Effect.die(error)
    default:
      return Effect.fail(error)
  }
}
