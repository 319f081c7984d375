import { defineModule, listAllPermissions, type Module, Options, PublicUrl, run } from "@tollgate/core/module"
import { Sessions, type TokensOfAccount, tokens } from "@tollgate/tokens"
import { Effect } from "effect"
import { type Console, consoleOption } from "./Console.ts"
import type { ConsoleOptions } from "./ConsoleSettings.ts"
import { makeConsoleRoutes } from "./consoleRoutes.ts"
import { type ConsoleLink, type ConsoleLinkOptions, makeCreateLink } from "./createLink.ts"
import { makeDocsPageRoutes } from "./docsPage.ts"

/** What the console adds to a Tollgate in process. */
export interface ConsoleOfGate {
  /**
   * Creates a link that opens the console without a token: for all accounts with write access, unless the options say less.
   * It works once, within 5 minutes.
   *
   * @example
   * ```ts
   * const { url } = await gate.createConsoleLink({ account: "acme", name: "ann@example.com", permissions: ["support"] })
   * ```
   */
  createConsoleLink(options?: ConsoleLinkOptions): Promise<ConsoleLink>
}

/** The console, as a module: what `adminConsole` returns. Its sessions are those of `@tollgate/tokens`. */
export type ConsoleModule = Module<TokensOfAccount, ConsoleOfGate, Sessions>

/** Serves the files of a console and the API reference, and lets its sessions in. */
export const consoleModule = (console: Console, settings: ConsoleOptions = {}): ConsoleModule =>
  defineModule({
    name: "console",
    needs: [tokens()],
    routes: Effect.map(
      Effect.all([
        makeConsoleRoutes(Options.decodeSync(consoleOption, console, "console"), settings),
        makeDocsPageRoutes
      ]),
      (routes) => routes.flat()
    ),
    gate: Effect.gen(function* () {
      const createLink = makeCreateLink(yield* Sessions, yield* listAllPermissions, yield* PublicUrl)
      return { createConsoleLink: (options?: ConsoleLinkOptions) => run(createLink(options)) }
    })
  })
