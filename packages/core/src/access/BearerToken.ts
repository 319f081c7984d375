/**
 * The option `tokens`: the management tokens of the HTTP API.
 */

import { AccountName, Options, ShortText } from "@tollgate/store/internal"
import { Schema } from "effect"
import { Permissions } from "./Principal.ts"

/** A management token, its account (`*` for all accounts) and what it may do. */
export interface BearerToken {
  readonly token: string
  readonly account: string
  /** `write`, the default, is every permission but those for tokens; `read` is every one that only reads. */
  readonly access?: "read" | "write" | undefined
  /** Permissions such as `consumers:write`, `*` for all, or roles such as `viewer`, instead of `access`. */
  readonly permissions?: ReadonlyArray<string> | undefined
  /** Who uses it, for the events of what is done with it. */
  readonly name?: string | undefined
}

const minTokenLength = 24

/** The account of a credential; `*` for all accounts. */
export const accountOption = Options.string(
  'must consist of letters, digits, "_", "." and "-", or be "*" for all accounts',
  (account) => account === "*" || Schema.is(AccountName)(account)
)

/** Permissions and roles, instead of `access`. */
export const permissionsOption = Options.value(
  Schema.is(Permissions),
  'must be an array of at most 100 permissions, such as "consumers:write", or roles, such as "viewer"'
)

const bearerToken = Options.struct<BearerToken>()({
  token: Options.string(
    `must have at least ${minTokenLength} characters and no white space; generate a random one, for example with \`openssl rand -hex 24\``,
    (token) => token.length >= minTokenLength && !/\s/.test(token)
  ),
  account: accountOption,
  name: Options.optional(Options.string("must have 1 to 256 characters", Schema.is(ShortText))),
  access: Options.optional(Options.literals(["read", "write"])),
  permissions: Options.optional(permissionsOption)
}).check(
  Schema.makeFilter(
    ({ access, permissions }) =>
      access === undefined ||
      permissions === undefined || { path: ["permissions"], issue: "excludes access; set one of the two, not both" }
  )
)

export const bearerTokens = Schema.Array(bearerToken)
  .annotate({ message: "must be an array of { token, account, access, name }" })
  .check(
    Schema.makeFilter((tokens) => {
      const duplicate = tokens.findIndex(
        ({ token }, index) => tokens.findIndex((other) => other.token === token) < index
      )
      return duplicate < 0 || { path: [duplicate, "token"], issue: "duplicate token; list each token once" }
    })
  )
