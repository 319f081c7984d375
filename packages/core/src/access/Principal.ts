/**
 * Who is calling over HTTP: for one account or for all, to read or to write. In-process callers use the services
 * themselves and have no principal: two separate entrances.
 */
import { Context, Schema } from "effect"
import type { AccountName } from "../shared/Names.ts"

export interface PrincipalShape {
  /** Tells callers apart, for instance in what an Idempotency-Key is scoped to. It is no secret. */
  readonly id: string
  readonly account: AccountName | "*"
  readonly access: "read" | "write"
}

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

export const mayActFor = ({ account }: PrincipalShape, accountName: string): boolean =>
  account === "*" || account === accountName
