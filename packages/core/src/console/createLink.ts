/**
 * Creates links to the console, for `gate.createConsoleLink`.
 */
import { Effect } from "effect"
import { accountOption } from "../access/BearerToken.ts"
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import * as Options from "../runtime/Options.ts"
import { AccountName } from "../schema/Names.ts"
import { formatTimestamp } from "../schema/Timestamp.ts"
import type { ConsoleSessions } from "./ConsoleSessions.ts"

export interface ConsoleLinkOptions {
  /** The account that the link is for. Default: all accounts. */
  readonly account?: string | undefined
  /** Default: `write`. */
  readonly access?: "read" | "write" | undefined
}

export interface ConsoleLink {
  /** A URL below `publicUrl`; without that option, the path `/console/` and the code. */
  readonly url: string
  /** When the link stops working, unless it was used. */
  readonly expiresOn: string
}

const linkOptions = Options.struct<ConsoleLinkOptions>()({
  account: Options.optional(accountOption),
  access: Options.optional(Options.literals(["read", "write"]))
})

const problem = "is not set; to create links, pass console: adminConsole() of @tollgate/console to createTollgate"

/** The code is in the fragment of the URL, which browsers do not send: it is in no log of a server or proxy. */
export const makeCreateLink =
  (
    sessions: ConsoleSessions["Service"],
    { isEnabled, publicUrl = "" }: { readonly isEnabled: boolean; readonly publicUrl?: string | undefined }
  ) =>
  (options: ConsoleLinkOptions | undefined): Effect.Effect<ConsoleLink, ConfigurationError> =>
    Effect.gen(function* () {
      if (!isEnabled) return yield* new ConfigurationError({ option: "console", problem })
      const { account = "*", access = "write" } = yield* Options.decode(linkOptions, options)
      const { code, expiresOn } = yield* sessions.createCode({
        account: account === "*" ? account : AccountName.make(account),
        access
      })
      return { url: `${publicUrl.replace(/\/+$/, "")}/console/#code=${code}`, expiresOn: formatTimestamp(expiresOn) }
    })
