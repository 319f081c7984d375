/**
 * Who may call an endpoint. It is declared as a middleware, so that the description tells it.
 */
import { Context, Effect } from "effect"
import { type HttpApiEndpoint, HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { Forbidden, mayActFor, type Principal, type PrincipalShape, type Unauthorized } from "../access/Principal.ts"
import { anywhere, explained, ForbiddenProblem, UnauthorizedProblem } from "./problems.ts"

/** Marks an endpoint that changes nothing although its method is not GET. */
export const ReadsOnly = Context.Reference<boolean>("@tollgate/core/http/ReadsOnly", { defaultValue: () => false })

export class Access extends HttpApiMiddleware.Service<Access, { provides: Principal }>()("@tollgate/core/http/Access", {
  security: { bearer: HttpApiSecurity.bearer },
  error: [UnauthorizedProblem, ForbiddenProblem, ...anywhere]
}) {}

/** Lets callers in who may do what the endpoint does, for the account that the path names. */
export const mayCall = (endpoint: HttpApiEndpoint.Top) => {
  const reads = endpoint.method === "GET" || Context.get(endpoint.annotations, ReadsOnly)
  return (caller: Effect.Effect<PrincipalShape, Unauthorized>, accountName: string | undefined) =>
    explained(
      Effect.flatMap(caller, (principal) => {
        if (accountName !== undefined && !mayActFor(principal, accountName)) {
          return Effect.fail(new Forbidden({ problem: "This credential is for another account" }))
        }
        return !reads && principal.access === "read"
          ? Effect.fail(new Forbidden({ problem: "This credential may read, and not write" }))
          : Effect.succeed(principal)
      })
    )
}
