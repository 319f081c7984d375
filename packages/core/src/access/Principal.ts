/**
 * The authenticated HTTP caller: its account (or all accounts) and its access. Callers in process have
 * none: `api/checkOwner.ts` limits a handle to its account. No field of a request can turn an access check off.
 */

import { AccountName, ShortText } from "@tollgate/store/internal"
import { Context, Schema } from "effect"
import { type Grant, permissionPattern, toAccess } from "./permissions.ts"

/** What a credential may do, instead of `access`: at most 100 permissions, such as `consumers:write`, or roles. */
export const Permissions = Schema.Array(
  Schema.String.pipe(
    Schema.check(Schema.isPattern(permissionPattern, { expected: "a permission such as consumers:write, or a role" }))
  )
).pipe(Schema.check(Schema.isMaxLength(100)))

/** Who calls, for which account (`*` for all accounts), and what the caller may do. */
export const PrincipalShape = Schema.Struct({
  /** Identifies the caller, for example to scope Idempotency-Keys. Not a secret. */
  id: Schema.String.pipe(Schema.check(Schema.isMinLength(1))),
  /** Who it is, for people who read the events. */
  name: Schema.optionalKey(ShortText),
  account: Schema.Union([Schema.Literal("*"), AccountName]),
  access: Schema.Literals(["read", "write"]),
  /** If given, `access` counts for nothing. */
  permissions: Schema.optionalKey(Permissions)
})
export type PrincipalShape = typeof PrincipalShape.Type

/** A principal as an application gives it: with `access` or `permissions`. */
export const PrincipalInput = Schema.Struct({
  ...PrincipalShape.fields,
  access: Schema.optionalKey(PrincipalShape.fields.access)
}).check(
  Schema.makeFilter(({ access, permissions }) => (access === undefined) !== (permissions === undefined) || "access")
)

/** What a credential may do, from its options: `write` unless they say otherwise. */
export const toGrant = ({
  access = "write",
  permissions
}: { [Field in keyof Grant]?: Grant[Field] | undefined }): Grant =>
  permissions === undefined ? { access } : { access: toAccess(permissions), permissions }

/** A customer in its portal: of the operations that are open to portals, it may use some, of one consumer. */
export interface PortalScope {
  readonly bucketName: string
  readonly consumerName: string
  /** What it may do there, such as `keys:read`. No permissions: they are those of other callers. */
  readonly allow: ReadonlyArray<string>
}

/** A principal, and what is not shown of it. */
export interface CallerShape extends PrincipalShape {
  /** If given, the permissions and the access count for nothing. */
  readonly portal?: PortalScope
  /** What Idempotency-Keys are scoped to, if the id is not the same under every secret. */
  readonly idempotencyScope?: string
}

/** The authenticated caller of the HTTP API, which every endpoint that requires authentication receives. */
export class Principal extends Context.Service<Principal, CallerShape>()("@tollgate/core/access/Principal") {}

export const canAccessAccount = ({ account }: PrincipalShape, accountName: string): boolean =>
  account === "*" || account === accountName
