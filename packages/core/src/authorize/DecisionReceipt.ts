/**
 * What is stored of an allowed decision for replays of an idempotent request, beside the new values of its counters.
 */

import { type Change, type CommitResult, makeResultCodec, type StoreError } from "@tollgate/store/internal"
import { type Effect, Schema } from "effect"
import { Verified } from "../keys/Verification.ts"
import { Features } from "../metering/model/Features.ts"
import type { Amounts } from "../metering/model/Quota.ts"
import { UsedSubscriptionResult } from "../metering/model/UsedSubscription.ts"
import { CountReceipt, toQuotas } from "../metering/usage/CountReceipt.ts"
import { type RateLimitTake, toStatuses } from "../rateLimits/RateLimitTake.ts"
import type { ParsedLimits } from "./AuthorizeOptions.ts"
import type { Allowed } from "./Decision.ts"

const { consumer, scopes } = Verified.fields

export const DecisionReceipt = Schema.Struct({
  consumer,
  keyId: Schema.String,
  scopes,
  takes: Schema.Array(
    Schema.Struct({
      counter: Schema.String,
      policy: Schema.Struct({
        name: Schema.String,
        limit: Schema.Finite,
        per: Schema.Finite,
        burst: Schema.Finite,
        interval: Schema.Finite
      })
    })
  ),
  /** With `metering`. */
  count: Schema.optionalKey(
    Schema.Struct({
      ...CountReceipt.fields,
      subscription: UsedSubscriptionResult,
      features: Schema.optionalKey(Features)
    })
  )
})
export type DecisionReceipt = typeof DecisionReceipt.Type

export const decisionCodec = makeResultCodec(DecisionReceipt)

/** Commits what a decision counts, once for each idempotency key. Its further errors end the operation. */
export type CommitDecision<E> = (
  changes: ReadonlyArray<Change>,
  receipt: DecisionReceipt
) => Effect.Effect<CommitResult, StoreError | E>

/** What is remembered of a decision, before its commit. */
export const makeReceipt = (
  { consumer, keyId, scopes }: Allowed,
  takes: ReadonlyArray<RateLimitTake>,
  count?: DecisionReceipt["count"]
): DecisionReceipt => ({
  consumer,
  keyId,
  ...(scopes && { scopes }),
  takes: takes.map(({ policy, change }) => ({ policy, counter: change.counter })),
  ...(count && { count })
})

/** The decision of the first request, for its replay. */
export const toReplayedDecision = (
  { takes, count, ...allowed }: DecisionReceipt,
  { metering, reserveMs }: ParsedLimits,
  commitResult: CommitResult
): Allowed => {
  const statuses = toStatuses(
    takes.map(({ policy, counter }) => ({ policy, change: { counter } })),
    commitResult
  )
  const amounts: Amounts | undefined = metering?.meters
  return {
    allowed: true,
    ...allowed,
    ...(count && { subscription: count.subscription }),
    ...(count?.features && { features: count.features }),
    ...(count && amounts && { quotas: toQuotas(amounts, count, commitResult) }),
    ...(statuses.length === 0 ? {} : { rateLimits: statuses }),
    ...(reserveMs !== undefined && count?.reservation ? { reservation: count.reservation } : {})
  }
}
