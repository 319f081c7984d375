/**
 * The authenticated HTTP caller: its account (or all accounts) and its access. In-process callers use the services
 * directly and have no principal, so no request field can turn an access check off.
 */
import { Context, Schema } from "effect"
import { problem } from "../errors/problem.ts"
import { AccountName } from "../schema/Names.ts"

export const PrincipalShape = Schema.Struct({
  /** Identifies the caller, for example to scope Idempotency-Keys. Not a secret. */
  id: Schema.String.pipe(Schema.check(Schema.isMinLength(1))),
  account: Schema.Union([Schema.Literal("*"), AccountName]),
  access: Schema.Literals(["read", "write"])
})
export type PrincipalShape = typeof PrincipalShape.Type

export class Principal extends Context.Service<Principal, PrincipalShape>()("@tollgate/core/access/Principal") {}

/** The credential is missing or wrong. The error does not say which, so that it gives no hint to an attacker. */
export class Unauthorized extends problem<Unauthorized>()("Unauthorized", {
  code: "unauthorized",
  status: 401,
  title: "Not authenticated",
  detail: () => "Send a valid credential, such as Authorization: Bearer <token>"
}) {}

export class Forbidden extends problem<Forbidden>()("Forbidden", {
  code: "forbidden",
  status: 403,
  title: "Forbidden",
  detail: () => "This credential is for another account"
}) {}

export const canAccessAccount = ({ account }: PrincipalShape, accountName: string): boolean =>
  account === "*" || account === accountName
