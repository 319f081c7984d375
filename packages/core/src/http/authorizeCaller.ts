import { Effect } from "effect"
import { Forbidden } from "../access/AccessError.ts"
import { canAccessAccount, type PrincipalShape } from "../access/Principal.ts"
import type { OperationDescription } from "../api/describeOperations.ts"
import type { AnyRequest, CallerScope } from "../operations/checkOwner.ts"

/** Why a caller is refused: it needs access to the account in the path, and write access if the operation writes. */
export const findRefusal = (
  { isReadOnly }: OperationDescription,
  principal: PrincipalShape,
  accountName: string | undefined
): Forbidden | undefined => {
  if (accountName !== undefined && !canAccessAccount(principal, accountName)) return new Forbidden()
  return !isReadOnly && principal.access === "read"
    ? new Forbidden({ detail: "This credential is read-only" })
    : undefined
}

/** Rejects `key-format=visible` for read-only credentials: they must not see key values. */
export const checkCanSeeKeyValues = (
  { access }: PrincipalShape,
  { query = {} }: AnyRequest
): Effect.Effect<void, Forbidden> =>
  query["keyFormat"] === "visible" && access === "read"
    ? Effect.fail(new Forbidden({ detail: "A read-only credential cannot see key values. Use key-format=masked." }))
    : Effect.void

export const toCallerScope = ({ account }: PrincipalShape): CallerScope =>
  account === "*" ? {} : { accountName: account }
