/**
 * Counts decisions by outcome and reason, records how long they take, and makes a span for each if the host traces.
 */
import { Cause, Effect, Exit } from "effect"
import { isTollgateError } from "../errors/TollgateError.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { hasTracer, withSafeSpan } from "../runtime/withSafeSpan.ts"
import { instruments } from "../telemetry/instruments.ts"
import { SpanNames } from "../telemetry/SpanNames.ts"
import type { RecordValue, TelemetryShape } from "../telemetry/Telemetry.ts"

/** Whether a request is allowed, why not, and whose it is. */
type Decision = ({ readonly allowed: true } | { readonly allowed: false; readonly reason: string }) & {
  readonly consumer?: { readonly name: string }
}
type DecisionExit = Exit.Exit<Decision, unknown>

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

/** Adds a span to a decision, if the host traces. */
export const traceDecision = <A extends Decision, E>(
  bucket: KeyBucket,
  decision: Effect.Effect<A, E>
): Effect.Effect<A, E> => Effect.withFiber((fiber) => (hasTracer(fiber) ? withSpan(bucket, decision) : decision))

const withSpan = <A extends Decision, E>(bucket: KeyBucket, decision: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.onExit(decision, (exit) =>
    Effect.withFiber((fiber) => {
      const consumer = Exit.isSuccess(exit) ? exit.value.consumer?.name : undefined
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

/** Makes the function that records a decision that began at `start`, in milliseconds of `performance.now`. */
export const makeRecordDecision = ({ series }: TelemetryShape) => {
  const seriesByReason = new Map<string, DecisionSeries>()

  const makeSeries = (exit: DecisionExit): DecisionSeries => {
    const attributes = toAttributes(exit)
    return {
      count: series(instruments.authorizations, attributes),
      recordDuration: series(instruments.authorizeDuration, { "tollgate.outcome": attributes["tollgate.outcome"] })
    }
  }

  return (exit: DecisionExit, start: number): void => {
    const reason = getReason(exit)
    const decisionSeries = seriesByReason.get(reason) ?? makeSeries(exit)
    seriesByReason.set(reason, decisionSeries)
    decisionSeries.count(1)
    decisionSeries.recordDuration((performance.now() - start) / 1_000)
  }
}
