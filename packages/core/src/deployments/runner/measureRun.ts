/**
 * Records how the runs of this process end and how long they take, and makes a span for each.
 */
import { Effect } from "effect"
import { withSafeSpan } from "../../runtime/withSafeSpan.ts"
import { instruments } from "../../telemetry/instruments.ts"
import type { TelemetryShape } from "../../telemetry/Telemetry.ts"
import type { RunOutcome } from "./runVersion.ts"

export const makeMeasureRun =
  ({ series }: TelemetryShape) =>
  <E, R>(run: Effect.Effect<RunOutcome | undefined, E, R>): Effect.Effect<void, E, R> =>
    Effect.suspend(() => {
      const start = performance.now()
      return Effect.flatMap(run, (outcome) => {
        if (outcome === undefined) return Effect.void
        const seconds = (performance.now() - start) / 1_000
        const attributes = { "tollgate.outcome": outcome }
        series(instruments.deployments, attributes)(1)
        series(instruments.deploymentDuration, attributes)(seconds)
        return Effect.andThen(
          Effect.annotateCurrentSpan(attributes),
          Effect.annotateLogs(Effect.logInfo(`A deployment ${outcome}`), { durationMs: Math.round(seconds * 1_000) })
        )
      })
    }).pipe(withSafeSpan("tollgate.deployment"))
