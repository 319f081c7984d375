/**
 * `@tollgate/console`: the console of Tollgate, as a module of `createTollgate`.
 */
import { Options } from "@tollgate/core/module"
import { type ConsoleOptions, consoleOptions } from "./ConsoleSettings.ts"
import { type ConsoleModule, consoleModule } from "./consoleModule.ts"
import { files } from "./files.generated.ts"

export { ConsoleCodeInvalid } from "./ConsoleError.ts"
export type { ConsoleBrand, ConsoleOptions } from "./ConsoleSettings.ts"
export type { ConsoleModule, ConsoleOfGate } from "./consoleModule.ts"
export type { ConsoleLink, ConsoleLinkOptions } from "./createLink.ts"

/**
 * Serves a console at `/console/`. Its files need no credential; what they show, they request from the HTTP API with a
 * management token, or with the token of a link that `gate.createConsoleLink` made.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store, secret, tokens: [{ token, account: "*" }], modules: [adminConsole()] })
 * ```
 */
export const adminConsole = (options: ConsoleOptions = {}): ConsoleModule => {
  const settings = Options.decodeSync(consoleOptions, options, "adminConsole")
  const appFiles = files.map(({ gzipBase64, ...file }) => ({ ...file, gzip: Buffer.from(gzipBase64, "base64") }))
  return consoleModule({ files: appFiles }, settings)
}
