/**
 * The option `console`: the files of the console, which is `adminConsole()` of `@tollgate/console`.
 */
import { Schema } from "effect"
import * as Options from "../runtime/Options.ts"

export interface ConsoleFile {
  /** The path below `/console/`. The page itself has the path `""`. */
  readonly path: string
  readonly contentType: string
  /** Whether the name contains a hash of the content, so that browsers may keep the file for ever. */
  readonly isImmutable: boolean
  /** The content, compressed with gzip. */
  readonly gzip: Uint8Array
}

/** The files of a console, such as `adminConsole()` of `@tollgate/console`. */
export interface Console {
  readonly files: ReadonlyArray<ConsoleFile>
}

/** The path below `/console/` that exchanges codes for session tokens. */
export const sessionFile = "session"

const isPath = (path: string): boolean =>
  path === "" ||
  (path !== sessionFile && /^[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/.test(path))

const isGzip = (value: unknown): value is Uint8Array =>
  value instanceof Uint8Array && value[0] === 0x1f && value[1] === 0x8b

const consoleFile = Options.struct<ConsoleFile>()({
  path: Options.string(
    `must be a path of letters, digits, "_", "." and "-", without a leading slash, and other than "${sessionFile}"`,
    isPath
  ),
  contentType: Options.string("must be a media type, such as text/css", (type) => /^[\w.+-]+\/[ -~]+$/.test(type)),
  isImmutable: Options.literals([true, false], "must be true or false"),
  gzip: Options.value(isGzip, "must be a Uint8Array with gzip content")
})

export const consoleOption = Options.struct<Console>()({
  files: Schema.Array(consoleFile)
    .annotate({ message: "must be an array of files" })
    .pipe(Schema.annotateKey({ messageMissingKey: "must be an array of files, such as that of adminConsole()" }))
    .check(
      Schema.makeFilter((files) => {
        const paths = files.map(({ path }) => path)
        const duplicate = paths.findIndex((path, index) => paths.indexOf(path) < index)
        if (duplicate >= 0) return { path: [duplicate, "path"], issue: "duplicate path; list each file once" }
        return paths.includes("") || { path: [], issue: 'must contain the page, whose path is ""' }
      })
    )
})
