/**
 * Records how the runs of this process end and how long they take, and makes a span for each.
 */
import { type TelemetryShape, withSafeSpan } from "@tollgate/core/module"
import { Effect } from "effect"
import { deploymentInstruments } from "./deploymentInstruments.ts"
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
        series(deploymentInstruments.deployments, attributes)(1)
        series(deploymentInstruments.deploymentDuration, attributes)(seconds)
        return Effect.andThen(
          Effect.annotateCurrentSpan(attributes),
          Effect.annotateLogs(Effect.logInfo(`A deployment ${outcome}`), { durationMs: Math.round(seconds * 1_000) })
        )
      })
    }).pipe(withSafeSpan("tollgate.deployment"))
