import { Context, Effect } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { canAccessAccount, Forbidden, type PrincipalShape, type Unauthorized } from "../access/Principal.ts"
import { IsReadOnly } from "../api/Authenticated.ts"
import { toProblems } from "./toProblems.ts"

/** Checks that a caller may use an endpoint: access to the account in the path, and write access if it writes. */
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
