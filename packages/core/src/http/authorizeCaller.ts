import { Effect } from "effect"
import { Forbidden } from "../access/AccessError.ts"
import { type CallerShape, canAccessAccount, type PortalScope, type PrincipalShape } from "../access/Principal.ts"
import { hasPermission } from "../access/permissions.ts"
import type { AnyRequest } from "../api/AnyRequest.ts"
import type { CallerScope } from "../api/checkOwner.ts"
import type { OperationDescription } from "../api/describeOperations.ts"

/** The parameters in the path of a request, decoded or not. */
type PathParams = Readonly<Record<string, string | undefined>>

const refuse = (permission: string): Forbidden =>
  new Forbidden({ detail: `This credential lacks the permission ${permission}`, permission })

/** Why a customer in its portal is refused. The error does not say what else there is. */
const findPortalRefusal = (
  needed: ReadonlyArray<string> | undefined,
  { bucketName, consumerName, allow }: PortalScope,
  params: PathParams
): Forbidden | undefined => {
  const isOwn = params["bucketName"] === bucketName && params["consumerName"] === consumerName
  if (needed === undefined || !isOwn) return new Forbidden({ detail: "This session cannot be used here" })
  if (needed.length === 0 || needed.some((permission) => allow.includes(permission))) return undefined
  return new Forbidden({ detail: `This session does not allow ${needed.join(" or ")}` })
}

/**
 * Why a caller is refused before its request is read: it needs access to the account in the path, and the permission of the
 * operation or one that is enough for some requests.
 */
export const findRefusal = (
  { permission, narrowPermissions, isReadOnly, portal }: OperationDescription,
  principal: CallerShape,
  params: PathParams
): Forbidden | undefined => {
  const accountName = params["accountName"]
  if (accountName !== undefined && !canAccessAccount(principal, accountName)) return new Forbidden()
  if (principal.portal !== undefined) return findPortalRefusal(portal, principal.portal, params)
  if (permission === undefined) return undefined
  // Read access includes `authorize`, to verify keys, but not to count their use.
  const mayChange = principal.permissions !== undefined || principal.access === "write"
  if (hasPermission(principal, permission) && (isReadOnly || mayChange)) return undefined
  for (const narrow in narrowPermissions) if (hasPermission(principal, narrow)) return undefined
  return refuse(permission)
}

/** Fails if the caller lacks a permission that this request needs. */
export const checkRequest = (
  { permission, furtherPermissions, narrowPermissions, portal }: OperationDescription,
  principal: CallerShape,
  request: AnyRequest
): Effect.Effect<void, Forbidden> => {
  if (principal.portal !== undefined) {
    const refusal = findPortalRefusal(portal, principal.portal, request.params ?? {})
    return refusal === undefined ? Effect.void : Effect.fail(refusal)
  }
  const isEnough = ([narrow, isAbout]: [string, (request: AnyRequest) => boolean]) =>
    isAbout(request) && hasPermission(principal, narrow)
  if (
    permission !== undefined &&
    !hasPermission(principal, permission) &&
    !Object.entries(narrowPermissions).some(isEnough)
  ) {
    return Effect.fail(refuse(permission))
  }
  for (const further in furtherPermissions) {
    if (furtherPermissions[further]?.(request) === true && !hasPermission(principal, further)) {
      return Effect.fail(refuse(further))
    }
  }
  return Effect.void
}

export const toCallerScope = ({ account }: PrincipalShape): CallerScope =>
  account === "*" ? {} : { accountName: account }
