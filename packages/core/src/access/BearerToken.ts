/**
 * The option `tokens`: the management tokens of the HTTP API.
 */
import { Schema } from "effect"
import * as Options from "../runtime/Options.ts"
import { AccountName } from "../schema/Names.ts"

/** A management token, its account (`*` for all accounts) and its access (default: `write`). */
export interface BearerToken {
  readonly token: string
  readonly account: string
  readonly access?: "read" | "write" | undefined
}

const minTokenLength = 24

/** The account of a credential; `*` for all accounts. */
export const accountOption = Options.string(
  'must consist of letters, digits, "_", "." and "-", or be "*" for all accounts',
  (account) => account === "*" || Schema.is(AccountName)(account)
)

const bearerToken = Options.struct<BearerToken>()({
  token: Options.string(
    `must have at least ${minTokenLength} characters and no white space; generate a random one, for example with \`openssl rand -hex 24\``,
    (token) => token.length >= minTokenLength && !/\s/.test(token)
  ),
  account: accountOption,
  access: Options.optional(Options.literals(["read", "write"]))
})

export const bearerTokens = Schema.Array(bearerToken)
  .annotate({ message: "must be an array of { token, account, access }" })
  .check(
    Schema.makeFilter((tokens) => {
      const duplicate = tokens.findIndex(
        ({ token }, index) => tokens.findIndex((other) => other.token === token) < index
      )
      return duplicate < 0 || { path: [duplicate, "token"], issue: "duplicate token; list each token once" }
    })
  )
