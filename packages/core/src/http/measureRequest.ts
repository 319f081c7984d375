/**
 * Records the duration of a request by method, route and status, and logs it for those who debug. Neither has the path,
 * which contains the names of tenants.
 */

import { onExitEager, type TransportResponse } from "@tollgate/store/internal"
import { Effect, Exit, LogLevel, References } from "effect"
import { instruments } from "../telemetry/instruments.ts"
import { Telemetry } from "../telemetry/Telemetry.ts"
import { toKnownMethod } from "./toKnownMethod.ts"

export interface MeasuredRequest {
  readonly method: string
  readonly route: string | undefined
}

/** The status of a request whose client disconnected before the response was ready. */
const clientClosed = 499

export const measureRequest =
  ({ method, route }: MeasuredRequest) =>
  <R>(response: Effect.Effect<TransportResponse, never, R>): Effect.Effect<TransportResponse, never, R> =>
    Effect.withFiber((fiber) => {
      const { series } = fiber.getRef(Telemetry)
      const start = performance.now()
      const record = (exit: Exit.Exit<TransportResponse>) => {
        const status = Exit.isSuccess(exit) ? exit.value.status : clientClosed
        const durationMs = performance.now() - start
        const knownMethod = toKnownMethod(method)
        series(instruments.httpRequestDuration, {
          "http.request.method": knownMethod,
          ...(route === undefined ? {} : { "http.route": route }),
          "http.response.status_code": status,
          ...(status >= 500 ? { "error.type": String(status) } : {})
        })(durationMs / 1_000)
        return { knownMethod, status, durationMs }
      }
      // An effect that logs nothing takes longer than the rest of this function.
      const isLogged = !LogLevel.isGreaterThan(fiber.getRef(References.MinimumLogLevel), "Debug")
      if (!isLogged) return onExitEager(response, (exit) => void record(exit))
      return Effect.onExit(response, (exit) => {
        const { knownMethod, status, durationMs } = record(exit)
        return Effect.annotateLogs(Effect.logDebug("Handled a request"), {
          method: knownMethod,
          ...(route === undefined ? {} : { route }),
          status,
          durationMs: Math.round(durationMs * 1_000) / 1_000
        })
      })
    })
