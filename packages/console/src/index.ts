/**
 * `@tollgate/console`: the console of Tollgate, as the option `console` of `createTollgate`.
 */
import type { Console } from "@tollgate/core"
import { files } from "./files.generated.ts"

/**
 * The files of the console, which are part of this package.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store, secret, tokens: [{ token, account: "*" }], console: adminConsole() })
 * ```
 */
export const adminConsole = (): Console => ({
  files: files.map(({ gzipBase64, ...file }) => ({ ...file, gzip: Buffer.from(gzipBase64, "base64") }))
})
