import { Context, Effect } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { canAccessAccount, Forbidden, type PrincipalShape, type Unauthorized } from "../access/Principal.ts"
import { IsReadOnly } from "../api/Authenticated.ts"
import { mapErrorsToProblems } from "./mapErrorsToProblems.ts"

/** Checks that the caller has access to the account in the path, and write access if the endpoint writes. */
export const authorizeEndpoint = (endpoint: HttpApiEndpoint.Top) => {
  const isReadOnly = endpoint.method === "GET" || Context.get(endpoint.annotations, IsReadOnly)
  return (authentication: Effect.Effect<PrincipalShape, Unauthorized>, accountName: string | undefined) =>
    mapErrorsToProblems(
      Effect.flatMap(authentication, (principal) => {
        if (accountName !== undefined && !canAccessAccount(principal, accountName)) {
          return Effect.fail(new Forbidden({ problem: "This credential is for another account" }))
        }
        return !isReadOnly && principal.access === "read"
          ? Effect.fail(new Forbidden({ problem: "This credential is read-only" }))
          : Effect.succeed(principal)
      })
    )
}
