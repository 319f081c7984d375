/**
 * `/metrics`, for Prometheus. The numbers are about all accounts, so the credential must be for all accounts.
 */
import { Effect } from "effect"
import { Forbidden } from "../access/AccessError.ts"
import { Authenticator } from "../access/Authenticator.ts"
import { Telemetry } from "../telemetry/Telemetry.ts"
import type { RouteHandler } from "./buildRoutes.ts"
import { metricsPath } from "./routes.ts"

const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8" }

export const makeMetricsRoute = Effect.gen(function* () {
  const { authenticate } = yield* Authenticator
  const { format } = yield* Telemetry
  const handler: RouteHandler = (request) =>
    Effect.flatMap(authenticate(request), ({ account }) =>
      account === "*"
        ? Effect.map(Effect.promise(format), (body) => ({ status: 200, headers, body }))
        : Effect.fail(new Forbidden({ detail: "The metrics are for credentials for all accounts" }))
    )
  return ["GET", metricsPath, handler] as const
})
