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
import type { AuthorizeError, AuthorizeResult } from "./authorize.ts"

type Decision = Effect.Effect<AuthorizeResult, AuthorizeError>

/** What is recorded of decisions with one outcome and reason. */
interface DecisionSeries {
  readonly count: RecordValue
  readonly recordDuration: RecordValue
}

/** The reason of a refusal, or the code of an error. */
const getReason = (exit: Exit.Exit<AuthorizeResult, unknown>): string => {
  if (Exit.isSuccess(exit)) return exit.value.allowed ? "" : exit.value.reason
  if (Cause.hasInterruptsOnly(exit.cause)) return "interrupted"
  const error = Cause.squash(exit.cause)
  return isTollgateError(error) ? error.code : "internal-error"
}

const getOutcome = (exit: Exit.Exit<AuthorizeResult, unknown>): "allowed" | "refused" | "error" => {
  if (Exit.isFailure(exit)) return "error"
  return exit.value.allowed ? "allowed" : "refused"
}

const toAttributes = (exit: Exit.Exit<AuthorizeResult, unknown>) => {
  const reason = getReason(exit)
  return { "tollgate.outcome": getOutcome(exit), ...(reason === "" ? {} : { "tollgate.reason": reason }) }
}

const withSpan = (bucket: KeyBucket, decision: Decision): Decision =>
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

export const makeMeasureDecision = (
  telemetry: TelemetryShape | undefined
): ((bucket: KeyBucket, decision: Decision) => Decision) => {
  if (telemetry === undefined) return (_, decision) => decision
  const seriesByReason = new Map<string, DecisionSeries>()

  const makeSeries = (exit: Exit.Exit<AuthorizeResult, unknown>): DecisionSeries => {
    const attributes = toAttributes(exit)
    return {
      count: telemetry.series(instruments.authorizations, attributes),
      recordDuration: telemetry.series(instruments.authorizeDuration, {
        "tollgate.outcome": attributes["tollgate.outcome"]
      })
    }
  }

  const record = (exit: Exit.Exit<AuthorizeResult, unknown>, seconds: number): void => {
    const reason = getReason(exit)
    const series = seriesByReason.get(reason) ?? makeSeries(exit)
    seriesByReason.set(reason, series)
    series.count(1)
    series.recordDuration(seconds)
  }

  return (bucket, decision) =>
    Effect.withFiber((fiber) => {
      const start = performance.now()
      return Effect.onExit(hasTracer(fiber) ? withSpan(bucket, decision) : decision, (exit) => {
        record(exit, (performance.now() - start) / 1_000)
        return Effect.void
      })
    })
}
