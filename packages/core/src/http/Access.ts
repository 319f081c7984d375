/**
 * Who may call an endpoint. It is declared as a middleware, so that the description tells it.
 */
import { Context, Effect } from "effect"
import { type HttpApiEndpoint, HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import {
  canAccessAccount,
  Forbidden,
  type Principal,
  type PrincipalShape,
  type Unauthorized
} from "../access/Principal.ts"
import { commonProblems, ForbiddenProblem, toProblems, UnauthorizedProblem } from "./problems.ts"

/** Marks an endpoint that changes nothing although its method is not GET. */
export const IsReadOnly = Context.Reference<boolean>("@tollgate/core/http/ReadsOnly", { defaultValue: () => false })

export class Authenticated extends HttpApiMiddleware.Service<Authenticated, { provides: Principal }>()(
  "@tollgate/core/http/Access",
  {
    security: { bearer: HttpApiSecurity.bearer },
    error: [UnauthorizedProblem, ForbiddenProblem, ...commonProblems]
  }
) {}

/** Lets callers in who may do what the endpoint does, for the account that the path names. */
export const authorizeEndpoint = (endpoint: HttpApiEndpoint.Top) => {
  const reads = endpoint.method === "GET" || Context.get(endpoint.annotations, IsReadOnly)
  return (caller: Effect.Effect<PrincipalShape, Unauthorized>, accountName: string | undefined) =>
    toProblems(
      Effect.flatMap(caller, (principal) => {
        if (accountName !== undefined && !canAccessAccount(principal, accountName)) {
          return Effect.fail(new Forbidden({ problem: "This credential is for another account" }))
        }
        return !reads && principal.access === "read"
          ? Effect.fail(new Forbidden({ problem: "This credential may read, and not write" }))
          : Effect.succeed(principal)
      })
    )
}
