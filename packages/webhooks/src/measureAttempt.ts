/**
 * Records an attempt to deliver an event, and makes a span for it. Neither names the endpoint, which belongs to a tenant.
 */
import { Telemetry, withSafeSpan } from "@tollgate/core/module"
import { Effect } from "effect"
import { isSuccess, type Outcome } from "./finishAttempts.ts"
import { webhookInstruments } from "./webhookInstruments.ts"

/** `2xx` to `5xx`, or `no-response`. */
const toResponseClass = (statusCode: number | undefined): string =>
  statusCode === undefined ? "no-response" : `${Math.floor(statusCode / 100)}xx`

const record = Effect.fnUntraced(function* ({ attempt: { statusCode, durationMs } }: Outcome, hasSucceeded: boolean) {
  const { series } = yield* Telemetry
  const outcome = { "tollgate.outcome": hasSucceeded ? "succeeded" : "failed" }
  const result = { "tollgate.result": toResponseClass(statusCode) }
  series(webhookInstruments.webhookAttempts, { ...outcome, ...result })(1)
  series(webhookInstruments.webhookDuration, outcome)(durationMs / 1_000)
  yield* Effect.annotateCurrentSpan({ ...outcome, ...result })
})

export const measureAttempt = <E>(attempt: Effect.Effect<Outcome, E>) =>
  Effect.tap(attempt, (outcome) => record(outcome, isSuccess(outcome.attempt))).pipe(
    withSafeSpan("tollgate.webhook", () => ({ kind: "client" }))
  )
