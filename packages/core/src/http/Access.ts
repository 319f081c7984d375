/**
 * Lets callers in who may do what they ask for, and tells the endpoint who they are.
 */
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { Authenticator } from "../access/Authenticator.ts"
import { Forbidden, mayActFor, Principal, Unauthorized } from "../access/Principal.ts"
import { anywhere, explained, ForbiddenProblem, UnauthorizedProblem } from "./problems.ts"

/** Marks an endpoint that changes nothing although its method is not GET. */
export const ReadsOnly = Context.Reference<boolean>("@tollgate/core/http/ReadsOnly", { defaultValue: () => false })

export class Access extends HttpApiMiddleware.Service<Access, { provides: Principal }>()("@tollgate/core/http/Access", {
  security: { bearer: HttpApiSecurity.bearer },
  error: [UnauthorizedProblem, ForbiddenProblem, ...anywhere]
}) {}

export const layerAccess: Layer.Layer<Access, never, Authenticator> = Layer.effect(
  Access,
  Effect.map(Authenticator, ({ authenticate }) => ({
    bearer: (app, { endpoint }) =>
      Effect.gen(function* () {
        const { source } = yield* HttpServerRequest.HttpServerRequest
        const { accountName } = (yield* HttpRouter.RouteContext).params
        const principal = yield* explained(
          Effect.gen(function* () {
            const principal = yield* source instanceof Request ? authenticate(source) : new Unauthorized()
            if (accountName !== undefined && !mayActFor(principal, accountName)) {
              return yield* new Forbidden({ problem: "This credential is for another account" })
            }
            const reads = endpoint.method === "GET" || Context.get(endpoint.annotations, ReadsOnly)
            if (!reads && principal.access === "read") {
              return yield* new Forbidden({ problem: "This credential may read, and not write" })
            }
            return principal
          })
        )
        return yield* Effect.provideService(app, Principal, principal)
      })
  }))
)
