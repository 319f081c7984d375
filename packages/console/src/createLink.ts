/**
 * Creates links to the console, for `gate.createConsoleLink`.
 */
import {
  AccountName,
  accountOption,
  ConfigurationError,
  findUnknown,
  formatTimestamp,
  type LimitReached,
  Options,
  permissionsOption,
  ShortText,
  type StoreError,
  toGrant
} from "@tollgate/core/module"
import type { Sessions } from "@tollgate/tokens"
import { Effect, Schema } from "effect"

/** To whom a link to the console gives access, to what, and for how long. */
export interface ConsoleLinkOptions {
  /** The account that the link is for. Default: all accounts. */
  readonly account?: string | undefined
  /** `write`, the default, is every permission but those for tokens; `read` is every one that only reads. */
  readonly access?: "read" | "write" | undefined
  /** Permissions such as `consumers:write`, `*` for all, or roles such as `support`, instead of `access`. */
  readonly permissions?: ReadonlyArray<string> | undefined
  /** Who signs in. The events of what they do name them. */
  readonly name?: string | undefined
  /** How long the session lasts after the link was opened, in milliseconds, at most 7 days. Default: one hour. */
  readonly expiresIn?: number | undefined
}

/** A link with which a browser signs in to the console, once. */
export interface ConsoleLink {
  /** A URL below `publicUrl`; without that option, the path `/console/` and the code. */
  readonly url: string
  /** When the link stops working, unless it was used. */
  readonly expiresOn: string
}

const sessionLifetimeMs = 60 * 60_000
const maxSessionLifetimeMs = 7 * 24 * 60 * 60_000

const linkOptions = Options.struct<ConsoleLinkOptions>()({
  account: Options.optional(accountOption),
  access: Options.optional(Options.literals(["read", "write"])),
  permissions: Options.optional(permissionsOption),
  name: Options.optional(Options.string("must have 1 to 256 characters", Schema.is(ShortText))),
  expiresIn: Options.optional(
    Options.positiveInteger("must be a number of milliseconds, at most 7 days", maxSessionLifetimeMs)
  )
}).check(
  Schema.makeFilter(
    ({ access, permissions }) =>
      access === undefined ||
      permissions === undefined || { path: ["permissions"], issue: "excludes access; set one of the two, not both" }
  )
)

/** The code is in the fragment of the URL, which browsers do not send: it is in no log of a server or proxy. */
export const makeCreateLink =
  (sessions: Sessions["Service"], known: ReadonlyArray<string>, publicUrl = "") =>
  (
    options: ConsoleLinkOptions | undefined
  ): Effect.Effect<ConsoleLink, ConfigurationError | LimitReached | StoreError> =>
    Effect.gen(function* () {
      const decoded = yield* Options.decode(linkOptions, options)
      const { account = "*", name, expiresIn: sessionMs = sessionLifetimeMs, permissions = [] } = decoded
      const unknown = findUnknown(permissions, known)
      if (unknown !== undefined) {
        const problem = `nothing needs the permission ${unknown}. Known are ${known.join(", ")}`
        return yield* new ConfigurationError({ option: "permissions", problem })
      }
      const { code, expiresOn } = yield* sessions.createLink({
        account: account === "*" ? account : AccountName.make(account),
        ...(name === undefined ? {} : { name }),
        ...toGrant(decoded),
        sessionMs
      })
      return { url: `${publicUrl.replace(/\/+$/, "")}/console/#code=${code}`, expiresOn: formatTimestamp(expiresOn) }
    })
