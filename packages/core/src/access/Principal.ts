/**
 * Who is calling over HTTP: for one account or for all, to read or to write. In-process callers use the services
 * themselves and have no principal: two separate entrances.
 */
import { Context, Schema } from "effect"
import { AccountName } from "../schema/Names.ts"

export const PrincipalShape = Schema.Struct({
  /** Tells callers apart, for instance in what an Idempotency-Key is scoped to. It is no secret. */
  id: Schema.String.pipe(Schema.check(Schema.isMinLength(1))),
  account: Schema.Union([Schema.Literal("*"), AccountName]),
  access: Schema.Literals(["read", "write"])
})
export type PrincipalShape = typeof PrincipalShape.Type

export class Principal extends Context.Service<Principal, PrincipalShape>()("@tollgate/core/access/Principal") {}

/** No credential, or a wrong one: which of the two is not told. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {
  override get message(): string {
    return "Send a valid credential, such as Authorization: Bearer <token>"
  }
}

export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}

export const canAccessAccount = ({ account }: PrincipalShape, accountName: string): boolean =>
  account === "*" || account === accountName
