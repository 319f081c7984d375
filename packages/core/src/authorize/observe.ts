/**
 * What is recorded of a decision: the use of its key, its outcome and reason, how long it took, and a span if the host
 * traces.
 */

import { hasTracer, isTollgateError, withSafeSpan } from "@tollgate/store/internal"
import { Cause, Effect, Exit } from "effect"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import type { CheckedKey } from "../keys/verify.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { instruments } from "../telemetry/instruments.ts"
import { SpanNames } from "../telemetry/SpanNames.ts"
import type { RecordValue, TelemetryShape } from "../telemetry/Telemetry.ts"
import type { AuthorizeResult } from "./Decision.ts"
import type { DecisionObserver, DecisionSource } from "./DecisionObservers.ts"

type DecisionExit = Exit.Exit<AuthorizeResult, unknown>

/** A decision that has ended. */
interface EndedDecision {
  readonly bucket: KeyBucket
  readonly key: string
  readonly source: DecisionSource | undefined
  /** The check of the key; `undefined` if it has failed, or if the options were invalid. */
  readonly checked: CheckedKey | undefined
  readonly exit: DecisionExit
  /** When the decision began, in milliseconds of `performance.now`. */
  readonly start: number
}

/** What is recorded of decisions with one outcome and reason. */
interface DecisionSeries {
  readonly count: RecordValue
  readonly recordDuration: RecordValue
}

/** The reason of a refusal, or the code of an error. */
const getReason = (exit: DecisionExit): string => {
  if (Exit.isSuccess(exit)) return exit.value.allowed ? "" : exit.value.reason
  if (Cause.hasInterruptsOnly(exit.cause)) return "interrupted"
  const error = Cause.squash(exit.cause)
  return isTollgateError(error) ? error.code : "internal-error"
}

const getOutcome = (exit: DecisionExit): "allowed" | "refused" | "error" => {
  if (Exit.isFailure(exit)) return "error"
  return exit.value.allowed ? "allowed" : "refused"
}

const toAttributes = (exit: DecisionExit) => {
  const reason = getReason(exit)
  return { "tollgate.outcome": getOutcome(exit), ...(reason === "" ? {} : { "tollgate.reason": reason }) }
}

/** Makes the function that every decision calls once, at its end. */
export const makeObserve = (
  { noteCheck }: ApiKeys["Service"],
  { series }: TelemetryShape,
  observers: ReadonlyArray<DecisionObserver>
) => {
  const seriesByReason = new Map<string, DecisionSeries>()

  const makeSeries = (exit: DecisionExit): DecisionSeries => {
    const attributes = toAttributes(exit)
    return {
      count: series(instruments.authorizations, attributes),
      recordDuration: series(instruments.authorizeDuration, { "tollgate.outcome": attributes["tollgate.outcome"] })
    }
  }

  return ({ bucket, key, source, checked, exit, start }: EndedDecision): void => {
    if (checked !== undefined) {
      noteCheck(checked)
      if (observers.length > 0 && Exit.isSuccess(exit)) {
        const { owner, now } = checked
        const observed = { bucket, key, result: exit.value, owner, now, source }
        for (const observer of observers) observer(observed)
      }
    }
    const reason = Exit.isSuccess(exit) && exit.value.allowed ? "" : getReason(exit)
    const decisionSeries = seriesByReason.get(reason) ?? makeSeries(exit)
    seriesByReason.set(reason, decisionSeries)
    decisionSeries.count(1)
    decisionSeries.recordDuration((performance.now() - start) / 1_000)
  }
}

/** Adds a span to a decision, if the host traces. */
export const traceDecision = <E>(
  bucket: KeyBucket,
  decision: Effect.Effect<AuthorizeResult, E>
): Effect.Effect<AuthorizeResult, E> =>
  Effect.withFiber((fiber) => (hasTracer(fiber) ? withSpan(bucket, decision) : decision))

const withSpan = <E>(bucket: KeyBucket, decision: Effect.Effect<AuthorizeResult, E>) =>
  Effect.onExit(decision, (exit) =>
    Effect.withFiber((fiber) => {
      const consumer = Exit.isSuccess(exit) && "consumer" in exit.value ? exit.value.consumer.name : undefined
      return Effect.annotateCurrentSpan({
        ...toAttributes(exit),
        ...(fiber.getRef(SpanNames)
          ? {
              "tollgate.account.name": bucket.accountName,
              "tollgate.key_bucket.name": bucket.bucketName,
              ...(consumer === undefined ? {} : { "tollgate.consumer.name": consumer })
            }
          : {})
      })
    })
  ).pipe(withSafeSpan("tollgate.authorize"))
