/**
 * `/metrics`, for Prometheus. The numbers are about all accounts, so the credential must be for all accounts.
 */
import { Effect } from "effect"
import { Forbidden } from "../access/AccessError.ts"
import { Authenticator } from "../access/Authenticator.ts"
import type { PrincipalShape } from "../access/Principal.ts"
import { hasPermission } from "../access/permissions.ts"
import { Telemetry } from "../telemetry/Telemetry.ts"
import type { RouteHandler } from "./buildRoutes.ts"
import type { ServedRoute } from "./routes.ts"

const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8" }

const permission = "metrics:read"
const isPermitted = (principal: PrincipalShape): boolean => hasPermission(principal, permission)

export const makeMetricsRoute = Effect.gen(function* () {
  const { authenticate } = yield* Authenticator
  const { format } = yield* Telemetry
  const handler: RouteHandler = (request) =>
    Effect.flatMap(authenticate(request), (principal) =>
      principal.account === "*" && isPermitted(principal)
        ? Effect.map(Effect.promise(format), (body) => ({ status: 200, headers, body }))
        : Effect.fail(
            new Forbidden({
              detail: "The metrics are for credentials for all accounts, with the permission metrics:read",
              ...(isPermitted(principal) ? {} : { permission })
            })
          )
    )
  const route: ServedRoute = { method: "GET", path: "/metrics", handler }
  return route
})
