/**
 * Decides whether a request is allowed, as one decision: verifies the key, checks its scopes and its subscription, takes
 * from rate limits and counts meters. The first refusal wins, and then nothing is taken or counted. A server calls it
 * for each request that it protects.
 */
import { type DateTime, Effect } from "effect"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import { findMissingScopes } from "../keys/scopes.ts"
import type { KeyRefusalReason, Verified } from "../keys/Verification.ts"
import type { MeteringBucketNotFound } from "../metering/model/MeteringBucketError.ts"
import type { Amounts, Quotas } from "../metering/model/Quota.ts"
import type { QuotaExceeded, UnknownMeter } from "../metering/model/QuotaError.ts"
import type { UsedSubscription } from "../metering/model/UsedSubscription.ts"
import type { Reservations } from "../metering/reservations/Reservations.ts"
import type { SubscriptionRefusal, Usage } from "../metering/usage/Usage.ts"
import type { RateLimited } from "../rateLimits/RateLimitError.ts"
import {
  makeTake,
  type RateLimitStatus,
  type RateLimitSubject,
  type RateLimitTake,
  toRateLimited,
  toStatuses
} from "../rateLimits/RateLimitTake.ts"
import type { HeaderPolicy } from "../rateLimits/rateLimitHeaders.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { matchEffectEager } from "../runtime/matchEffectEager.ts"
import { InvalidInput } from "../schema/InvalidInput.ts"
import { type HotPath, runInFiber } from "../store/HotPath.ts"
import type { Store } from "../store/Store.ts"
import { StoreConflict, type StoreError } from "../store/StoreError.ts"
import type {
  AppliedRateLimit,
  AuthorizeOptions,
  Charge,
  ParsedAuthorizeOptions,
  ParsedLimits
} from "./AuthorizeOptions.ts"
import { traceDecision } from "./measureDecision.ts"
import { makeParseAuthorizeOptions } from "./parseAuthorizeOptions.ts"

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
  /** Charges the request, or not, if its meters were only reserved. */
  readonly charge?: RequestCharge | undefined
}

/** Ends the reservation of a request. Only the first call of either has an effect. */
export interface RequestCharge {
  readonly reservationId: string
  /** Whether a request is charged of whose response only a part was sent. */
  readonly includesPartial: boolean
  readonly settle: Effect.Effect<void, unknown>
  readonly release: Effect.Effect<void, unknown>
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
  /** `scopes`: the missing ones. */
  | (Refusal<"missing-scope"> & { readonly scopes: ReadonlyArray<string> })
  | Refusal<SubscriptionRefusal>
  /** `limit`: the name of the rate limit. */
  | (Refusal<"rate-limited"> & {
      readonly limit: string
      readonly retryAfterMs: number
      readonly policy?: HeaderPolicy | undefined
    })
  | (Refusal<"over-quota"> & {
      readonly meter: string
      readonly max: number
      readonly resetsOn: DateTime.Utc
      readonly policy?: HeaderPolicy | undefined
    })

/** What `authorize` fails with if it cannot decide. A refusal is a result, not an error. */
export type AuthorizeError = StoreError | MeteringBucketNotFound | UnknownMeter | InvalidInput

const toSubject = (by: AppliedRateLimit["by"], { consumer, keyId }: Verified): RateLimitSubject => {
  if (by === "consumer") return { kind: "consumer", id: consumer.id }
  return by === "key" ? { kind: "key", id: keyId } : { kind: "value", id: by.value }
}

const noTakes: ReadonlyArray<RateLimitTake> = []
const noAmounts: Amounts = {}

/** The change for each limit of a call. From limits that turn out to be one and the same, the highest cost is taken. */
const makeTakes = (rateLimits: ReadonlyArray<AppliedRateLimit>, verified: Verified): ReadonlyArray<RateLimitTake> => {
  if (rateLimits.length === 0) return noTakes
  const takes = rateLimits.map(({ policy, by, cost }) => makeTake(policy, toSubject(by, verified), cost))
  if (takes.length === 1) return takes
  const byCounter = new Map<string, RateLimitTake>()
  for (const take of takes) {
    const { counter, cost } = take.change
    if ((byCounter.get(counter)?.change.cost ?? 0) < cost) byCounter.set(counter, take)
  }
  return [...byCounter.values()]
}

/** Fails with `InvalidInput` if the client caused the error. All other errors are mistakes of the server. */
const resolveLimits = (limits: () => Promise<ParsedLimits>): Effect.Effect<ParsedLimits, InvalidInput> =>
  Effect.catch(Effect.tryPromise({ try: limits, catch: (error) => error }), (error) =>
    error instanceof InvalidInput ? Effect.fail(error) : Effect.die(error)
  )

interface Services {
  readonly store: Store["Service"]
  readonly keys: ApiKeys["Service"]
  readonly usage: Usage["Service"]
  readonly reservations: Reservations["Service"]
}

/** Makes the function that decides on a request. It returns an `Exit` if the store answers at once. */
export const makeDecide = ({ keys, usage, reservations }: Omit<Services, "store">) => {
  const parseOptions = makeParseAuthorizeOptions()

  /** Takes from rate limits for a request without meters. They are counted in a metering bucket, or in the key bucket. */
  const takeFromLimits = (
    bucket: KeyBucket,
    verified: Verified,
    allowed: Allowed,
    takes: ReadonlyArray<RateLimitTake>,
    limitsIn: string | undefined,
    hotPath: HotPath
  ): Effect.Effect<AuthorizeResult, AuthorizeError> => {
    const changes = takes.map(({ change }) => change)
    return matchEffectEager(
      limitsIn === undefined
        ? hotPath.store.commit(getKeyBucketPartition(bucket), changes)
        : usage.commitInMeteringBucket(bucket.accountName, limitsIn, changes, hotPath),
      (error) => refuse((error instanceof StoreConflict ? toRateLimited(takes, error) : undefined) ?? error, verified),
      (commitResult) => Effect.succeed({ ...allowed, rateLimits: toStatuses(takes, commitResult) })
    )
  }

  /** Takes from the limits and counts the meters of a request with a valid key and the required scopes. */
  const takeAndCount = (
    bucket: KeyBucket,
    verified: Verified,
    { rateLimits, metering, limitsIn }: ParsedLimits,
    charge: Charge,
    hotPath: HotPath
  ): Effect.Effect<AuthorizeResult, AuthorizeError> => {
    const { consumer, keyId, scopes } = verified
    const takes = makeTakes(rateLimits, verified)
    const allowed: Allowed =
      scopes === undefined ? { allowed: true, consumer, keyId } : { allowed: true, consumer, keyId, scopes }
    if (metering === undefined) {
      return takes.length === 0
        ? Effect.succeed(allowed)
        : takeFromLimits(bucket, verified, allowed, takes, limitsIn, hotPath)
    }
    const { meteringBucketId, meters } = metering
    const request = { amounts: meters ?? noAmounts, rateLimitTakes: takes, kind: "consume" } as const
    const counting =
      charge !== "request" && meters !== undefined
        ? reservations.reserveForCustomer(bucket.accountName, meteringBucketId, consumer.name, request)
        : usage.countForCustomer(bucket.accountName, meteringBucketId, consumer.name, request, hotPath)
    return matchEffectEager(
      counting,
      (error) => refuse(error, verified),
      (outcome): Effect.Effect<AuthorizeResult> => {
        if (typeof outcome === "string") return Effect.succeed({ allowed: false, reason: outcome, consumer, keyId })
        const { subscription, quotas, rateLimits: statuses = [], reservation } = outcome
        return Effect.succeed({
          ...allowed,
          subscription,
          ...(meters === undefined ? {} : { quotas }),
          ...(statuses.length === 0 ? {} : { rateLimits: statuses }),
          ...(reservation === undefined
            ? {}
            : {
                charge: {
                  reservationId: reservation.value.id,
                  includesPartial: charge === "success",
                  settle: reservations.settleRequest(meteringBucketId, reservation),
                  release: reservations.releaseRequest(meteringBucketId, reservation)
                }
              })
        })
      }
    )
  }

  const decideOnVerified = (
    bucket: KeyBucket,
    verified: Verified,
    { scopes, limits, charge }: ParsedAuthorizeOptions,
    hotPath: HotPath
  ): Effect.Effect<AuthorizeResult, AuthorizeError> => {
    const { consumer, keyId } = verified
    const missing = findMissingScopes(verified.scopes, scopes)
    if (missing.length > 0) {
      return Effect.succeed({ allowed: false, reason: "missing-scope", consumer, keyId, scopes: missing })
    }
    return typeof limits === "function"
      ? Effect.flatMap(resolveLimits(limits), (limits) => takeAndCount(bucket, verified, limits, charge, hotPath))
      : takeAndCount(bucket, verified, limits, charge, hotPath)
  }

  return (
    bucket: KeyBucket,
    key: string,
    options: AuthorizeOptions | ParsedAuthorizeOptions | undefined,
    hotPath: HotPath
  ): Effect.Effect<AuthorizeResult, AuthorizeError> =>
    Effect.flatMapEager(parseOptions(options), (parsed) =>
      Effect.flatMapEager(
        keys.checkKey(bucket, key, hotPath),
        (check): Effect.Effect<AuthorizeResult, AuthorizeError> =>
          check.valid
            ? decideOnVerified(bucket, check, parsed, hotPath)
            : Effect.succeed({ allowed: false, reason: check.reason })
      )
    )
}

/** Makes the function that decides whether a request with a key is allowed, as `authorize` of a key bucket does. */
export const makeAuthorize = ({ store, ...services }: Services) => {
  const decide = makeDecide(services)
  return (
    bucket: KeyBucket,
    key: string,
    options?: AuthorizeOptions | ParsedAuthorizeOptions
  ): Effect.Effect<AuthorizeResult, AuthorizeError> =>
    traceDecision(
      bucket,
      runInFiber(store, (hotPath) => decide(bucket, key, options, hotPath))
    )
}

type UsageError = Effect.Error<ReturnType<Usage["Service"]["countForCustomer"]>> | RateLimited | QuotaExceeded

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
    case "ReservationLimit":
      return Effect.succeed({
        allowed: false,
        reason: "rate-limited",
        consumer,
        keyId,
        limit: "open-reservations",
        retryAfterMs: 1_000
      })
    case "SubscriptionNotActive":
      return Effect.succeed({ allowed: false, reason: "subscription-not-active", consumer, keyId })
    default:
      return Effect.fail(error)
  }
}
