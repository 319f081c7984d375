/**
 * Decides whether a request is allowed, as one decision: verifies the key, checks its scopes and its subscription, takes
 * from rate limits and counts meters. The first refusal wins, and then nothing is taken or counted. A server calls it
 * for each request that it protects.
 */

import {
  type Change,
  type CommitResult,
  type HotPath,
  matchEffectEager,
  onExitEager,
  StoreConflict,
  type StoreError
} from "@tollgate/store/internal"
import { Effect, Exit } from "effect"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import type { IpSource } from "../keys/ipAddresses.ts"
import { findMissingScopes } from "../keys/scopes.ts"
import type { Verified } from "../keys/Verification.ts"
import type { CheckedKey } from "../keys/verify.ts"
import type { MeteringBucketNotFound } from "../metering/model/MeteringBucketError.ts"
import type { Amounts } from "../metering/model/Quota.ts"
import type { Reservations } from "../metering/reservations/Reservations.ts"
import type { CommitCount } from "../metering/usage/countUsage.ts"
import type { Usage } from "../metering/usage/Usage.ts"
import { toRateLimited, toStatuses } from "../rateLimits/RateLimitTake.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import type { TelemetryShape } from "../telemetry/Telemetry.ts"
import { type ChargeMode, ParsedAuthorizeOptions, type ParsedLimits } from "./AuthorizeOptions.ts"
import type { Decide, DecideOnce } from "./Decide.ts"
import type { Allowed, AuthorizeError, AuthorizeResult } from "./Decision.ts"
import type { DecisionObserver } from "./DecisionObservers.ts"
import { type CommitDecision, makeReceipt } from "./DecisionReceipt.ts"
import { makeTakes, resolveLimits } from "./limitsOfCall.ts"
import { makeObserve } from "./observe.ts"
import { makeParseAuthorizeOptions } from "./parseAuthorizeOptions.ts"
import { refuse, type Tagged } from "./refuse.ts"

export interface DecisionServices {
  readonly keys: ApiKeys["Service"]
  readonly usage: Usage["Service"]
  readonly reservations: Reservations["Service"]
}

/** What is known of a decision while it is made. */
interface Progress {
  checked: CheckedKey | undefined
}

export const makeDecide = (
  { keys, usage, reservations }: DecisionServices,
  telemetry: TelemetryShape,
  observers: ReadonlyArray<DecisionObserver>
) => {
  const parseOptions = makeParseAuthorizeOptions()
  const observe = makeObserve(keys, telemetry, observers)

  /** Takes from the limits and counts the meters of a request with a valid key and the required scopes. */
  const takeAndCount = <E extends Tagged = never>(
    bucket: KeyBucket,
    verified: Verified,
    { rateLimits, metering, limitsIn, reserveMs, features: requiredFeatures, customer, labels }: ParsedLimits,
    charge: ChargeMode,
    hotPath: HotPath,
    commitOnce: CommitDecision<E> | undefined
  ): Effect.Effect<AuthorizeResult, AuthorizeError | E> => {
    const { consumer, keyId, scopes } = verified
    const allowed: Allowed =
      scopes === undefined ? { allowed: true, consumer, keyId } : { allowed: true, consumer, keyId, scopes }
    const takes = rateLimits.length === 0 ? [] : makeTakes(rateLimits, verified)
    if (metering === undefined) {
      if (takes.length === 0 && commitOnce === undefined) return Effect.succeed(allowed)
      const changes = takes.map(({ change }) => change)
      const commit =
        commitOnce && ((changes: ReadonlyArray<Change>) => commitOnce(changes, makeReceipt(allowed, takes)))
      const committing: Effect.Effect<CommitResult, StoreError | MeteringBucketNotFound | E> =
        limitsIn === undefined || takes.length === 0
          ? (commit?.(changes) ?? hotPath.store.commit(getKeyBucketPartition(bucket), changes))
          : usage.commitInMeteringBucket(bucket.accountName, limitsIn, changes, hotPath, commit)
      return matchEffectEager(
        committing,
        (error) =>
          refuse((error instanceof StoreConflict ? toRateLimited(takes, error) : undefined) ?? error, verified),
        (commitResult): Effect.Effect<AuthorizeResult> =>
          Effect.succeed(takes.length === 0 ? allowed : { ...allowed, rateLimits: toStatuses(takes, commitResult) })
      )
    }

    const { meteringBucketId, meters } = metering
    const usedBy = { keyBucketName: bucket.bucketName, keyId, labels }
    const request = {
      amounts: meters ?? {},
      rateLimitTakes: takes,
      kind: "consume",
      requiredFeatures,
      // The reservation of a request is settled here: nothing of it is stored.
      usedBy: meters === undefined || (charge !== "request" && reserveMs === undefined) ? undefined : usedBy
    } as const
    const commit: CommitCount<E> | undefined =
      commitOnce &&
      ((changes, receipt, { subscription, takes, features }) =>
        commitOnce(changes, makeReceipt(allowed, takes, { ...receipt, subscription, ...(features && { features }) })))
    const { accountName } = bucket
    const customerKey = customer ?? consumer.customerKey ?? consumer.name
    const isReserved = (reserveMs !== undefined || charge !== "request") && meters !== undefined
    const counting = isReserved
      ? reservations.reserveForCustomer(accountName, meteringBucketId, customerKey, request, {
          expiresInMs: reserveMs,
          commitOnce: commit
        })
      : usage.countForCustomer(accountName, meteringBucketId, customerKey, request, hotPath, commit)
    return matchEffectEager(
      counting,
      (error) => refuse(error, verified),
      (outcome): Effect.Effect<AuthorizeResult> => {
        if (typeof outcome === "string") return Effect.succeed({ allowed: false, reason: outcome, consumer, keyId })
        const { subscription, features, quotas, rateLimits: statuses = [], reservation, receipt } = outcome
        return Effect.succeed({
          ...allowed,
          subscription,
          ...(features && { features }),
          ...(meters === undefined ? {} : { quotas }),
          ...(statuses.length === 0 ? {} : { rateLimits: statuses }),
          ...(reserveMs !== undefined && receipt.reservation && { reservation: receipt.reservation }),
          ...(reserveMs === undefined &&
            reservation && {
              charge: {
                reservationId: reservation.value.id,
                meters: reservation.value.meters,
                includesPartial: charge !== "complete",
                isSettledByRoute: charge === "settle",
                settle: (used: Amounts) => reservations.settleRequest(meteringBucketId, reservation, used, usedBy),
                release: reservations.releaseRequest(meteringBucketId, reservation),
                countReleased: (used: Amounts) =>
                  reservations.countReleasedRequest(meteringBucketId, reservation.value, used, usedBy)
              }
            })
        })
      }
    )
  }

  const judge = <E extends Tagged = never>(
    bucket: KeyBucket,
    key: string,
    { scopes: required, limits, charge }: ParsedAuthorizeOptions,
    hotPath: HotPath,
    ip: IpSource,
    progress: Progress,
    commitOnce?: CommitDecision<E>
  ): Effect.Effect<AuthorizeResult, AuthorizeError | E> =>
    Effect.flatMapEager(
      keys.checkKey(bucket, key, hotPath, ip),
      (found): Effect.Effect<AuthorizeResult, AuthorizeError | E> => {
        progress.checked = found
        const { check } = found
        if (!check.valid) {
          const { valid: _, ...refusal } = check
          return Effect.succeed({ allowed: false, ...refusal })
        }
        const { consumer, keyId } = check
        const scopes = required.length === 0 ? required : findMissingScopes(check.scopes, required)
        if (scopes.length > 0) {
          return Effect.succeed({ allowed: false, reason: "missing-scope", consumer, keyId, scopes })
        }
        return typeof limits === "function"
          ? Effect.flatMap(resolveLimits(limits), (limits) =>
              takeAndCount(bucket, check, limits, charge, hotPath, commitOnce)
            )
          : takeAndCount(bucket, check, limits, charge, hotPath, commitOnce)
      }
    )

  const decide: Decide = (bucket, key, options, hotPath, source) => {
    const start = performance.now()
    const progress: Progress = { checked: undefined }
    const end = (exit: Exit.Exit<AuthorizeResult, AuthorizeError>) =>
      observe({ bucket, key, source, ...progress, exit, start })
    const parsed = parseOptions(options)
    if (Exit.isFailure(parsed)) return onExitEager(Exit.failCause(parsed.cause), end)
    const ip = options instanceof ParsedAuthorizeOptions ? source?.ip : options?.ip
    return onExitEager(judge(bucket, key, parsed.value, hotPath, ip, progress), end)
  }

  const decideOnce: DecideOnce = (bucket, key, options, hotPath, source, run) => {
    const start = performance.now()
    const progress: Progress = { checked: undefined }
    return onExitEager(
      run((commitOnce) => judge(bucket, key, options, hotPath, source.ip, progress, commitOnce)),
      (exit) => {
        if (Exit.isSuccess(exit) && exit.value.isReplay) return
        observe({ bucket, key, source, ...progress, exit: Exit.map(exit, ({ decision }) => decision), start })
      }
    )
  }

  return { decide, decideOnce }
}
