/**
 * The authenticated HTTP caller: its account (or all accounts) and its access. Callers in process have
 * none: `operations/checkOwner.ts` limits a handle to its account. No field of a request can turn an access check off.
 */
import { Context, Schema } from "effect"
import { AccountName } from "../schema/Names.ts"

/** Who calls, for which account (`*` for all accounts), and whether the caller may write. */
export const PrincipalShape = Schema.Struct({
  /** Identifies the caller, for example to scope Idempotency-Keys. Not a secret. */
  id: Schema.String.pipe(Schema.check(Schema.isMinLength(1))),
  account: Schema.Union([Schema.Literal("*"), AccountName]),
  access: Schema.Literals(["read", "write"])
})
export type PrincipalShape = typeof PrincipalShape.Type

/** A principal, and what is not shown of it. */
export interface CallerShape extends PrincipalShape {
  /** What Idempotency-Keys are scoped to, if the id is not the same under every secret. */
  readonly idempotencyScope?: string
}

/** The authenticated caller of the HTTP API, which every endpoint that requires authentication receives. */
export class Principal extends Context.Service<Principal, CallerShape>()("@tollgate/core/access/Principal") {}

export const canAccessAccount = ({ account }: PrincipalShape, accountName: string): boolean =>
  account === "*" || account === accountName
