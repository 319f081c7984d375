/**
 * Decides on requests of other servers, which ask over HTTP, as `authorize` of a key bucket does in process.
 */

import {
  type CommitResult,
  type Once,
  omitUndefined,
  Partition,
  runInFiber,
  SecretBox,
  Store,
  TrustedClock
} from "@tollgate/store/internal"
import { Context, Effect, Layer } from "effect"
import { makeRunRequest } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { RequestId, resolveRequestId } from "../api/RequestId.ts"
import { ApiKeys } from "../keys/ApiKeys.ts"
import { Reservations } from "../metering/reservations/Reservations.ts"
import { Usage } from "../metering/usage/Usage.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { Telemetry } from "../telemetry/Telemetry.ts"
import { ParsedAuthorizeOptions, type ParsedLimits } from "./AuthorizeOptions.ts"
import { makeDecide } from "./authorize.ts"
import { toParsedLimits } from "./authorizeSchemas.ts"
import type { DecidedOnce } from "./Decide.ts"
import type { AuthorizeResult, Refused } from "./Decision.ts"
import { DecisionObservers } from "./DecisionObservers.ts"
import { type DecisionReceipt, decisionCodec, toReplayedDecision } from "./DecisionReceipt.ts"
import type { AuthorizeAnswer, DecisionsApi, DecisionsMethods } from "./DecisionsApi.ts"
import { traceDecision } from "./observe.ts"
import { makeInvalidKeyRefusal, toAllowedHeaders, toRefusal, toRefusalAnswer } from "./routeAnswer.ts"

/** Ends a request whose decision is a refusal, which is not remembered. */
class RefusedRequest {
  readonly _tag = "RefusedRequest"
  readonly decision: Refused

  constructor(decision: Refused) {
    this.decision = decision
  }
}

/** Where a decision is committed. */
const getHome = (bucket: KeyBucket, { rateLimits, metering, limitsIn }: ParsedLimits): Partition.Partition => {
  const home = metering?.meteringBucketId ?? (rateLimits.length === 0 ? undefined : limitsIn)
  return home === undefined ? getKeyBucketPartition(bucket) : Partition.forMeteringBucket(home)
}

const invalidKey = makeInvalidKeyRefusal()

/** The decision, and what a protected route would have answered. */
const toAnswer = (decision: AuthorizeResult, now: number, instance: string): AuthorizeAnswer => {
  if (decision.allowed) {
    const { charge: _, ...rest } = decision
    return omitUndefined({
      ...rest,
      status: 200,
      headers: toAllowedHeaders(decision, { currentTimeMillisUnsafe: () => now })
    })
  }
  return {
    allowed: false,
    reason: decision.reason,
    ...("consumer" in decision ? { consumer: decision.consumer, keyId: decision.keyId } : {}),
    ...("scopes" in decision ? { scopes: decision.scopes } : {}),
    ...("features" in decision ? { features: decision.features } : {}),
    ...toRefusalAnswer(toRefusal(decision, invalidKey), instance)
  }
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const trustedClock = yield* TrustedClock
  const services = { keys: yield* ApiKeys, usage: yield* Usage, reservations: yield* Reservations }
  const runRequest = makeRunRequest(store, yield* SecretBox)
  const { decideOnce } = makeDecide(services, yield* Telemetry, (yield* DecisionObservers).all)

  return Decisions.of({
    authorize: Effect.fnUntraced(function* ({ params: bucket, headers = {}, payload }) {
      const { key, ip, scopes, ...input } = payload
      const limits = toParsedLimits(input)
      const options = new ParsedAuthorizeOptions(scopes, limits)
      const requestId = (yield* RequestId) || resolveRequestId(undefined)
      const { epochMilliseconds: now } = yield* trustedClock.now
      const toReplay = (receipt: DecisionReceipt, commitResult: CommitResult): DecidedOnce => ({
        decision: toReplayedDecision(receipt, limits, commitResult),
        isReplay: true
      })
      const deciding = runInFiber(store, (hotPath) =>
        decideOnce(bucket, key, options, hotPath, { ip, requestId: () => requestId }, (judge) =>
          runRequest("decisions.authorize", { params: bucket, headers, payload }, (once: Once<DecidedOnce>) => {
            const commitOnce =
              headers.idempotencyKey === undefined ? undefined : once(getHome(bucket, limits), toReplay, decisionCodec)
            return Effect.flatMap(
              judge(commitOnce),
              (decision): Effect.Effect<DecidedOnce, RefusedRequest> =>
                decision.allowed
                  ? Effect.succeed({ decision, isReplay: false })
                  : Effect.fail(new RefusedRequest(decision))
            )
          }).pipe(Effect.catchTag("RefusedRequest", ({ decision }) => Effect.succeed({ decision, isReplay: false })))
        )
      )
      const decision = yield* traceDecision(
        bucket,
        Effect.map(deciding, ({ decision }) => decision)
      )
      return toAnswer(decision, now, requestId)
    })
  })
})

/** The operation `authorize`, which takes one `OperationRequest`. */
export class Decisions extends Context.Service<Decisions, Operations<typeof DecisionsApi, DecisionsMethods>>()(
  "@tollgate/core/authorize/Decisions"
) {
  static readonly layer = Layer.effect(Decisions, make)
}
