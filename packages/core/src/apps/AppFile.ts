/**
 * The files of a web page that a module serves, such as the console, and their checks.
 */
import { Options } from "@tollgate/store/internal"
import { Schema } from "effect"

/** A file of a web page that a module serves. */
export interface AppFile {
  /** The path below the address of the app. The page itself has the path `""`. */
  readonly path: string
  readonly contentType: string
  /** Whether the name contains a hash of the content, so that browsers may keep the file for ever. */
  readonly isImmutable: boolean
  /** The content, compressed with gzip. */
  readonly gzip: Uint8Array
}

const isPath = (path: string): boolean =>
  path === "" || /^[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/.test(path)

const isGzip = (value: unknown): value is Uint8Array =>
  value instanceof Uint8Array && value[0] === 0x1f && value[1] === 0x8b

const makeFileOption = (reserved: string | undefined) =>
  Options.struct<AppFile>()({
    path: Options.string(
      'must be a path of letters, digits, "_", "." and "-", without a leading slash' +
        (reserved === undefined ? "" : `, and other than "${reserved}"`),
      (path) => isPath(path) && path !== reserved
    ),
    contentType: Options.string("must be a media type, such as text/css", (type) => /^[\w.+-]+\/[ -~]+$/.test(type)),
    isImmutable: Options.literals([true, false], "must be true or false"),
    gzip: Options.value(isGzip, "must be a Uint8Array with gzip content")
  })

/** Checks files that a module is given. `reserved` is a path below the address of the app that is not a file. */
export const appFilesOption = (reserved?: string) =>
  Schema.Array(makeFileOption(reserved))
    .annotate({ message: "must be an array of files" })
    .pipe(Schema.annotateKey({ messageMissingKey: "must be an array of files" }))
    .check(
      Schema.makeFilter((files) => {
        const paths = files.map(({ path }) => path)
        const duplicate = paths.findIndex((path, index) => paths.indexOf(path) < index)
        if (duplicate >= 0) return { path: [duplicate, "path"], issue: "duplicate path; list each file once" }
        return paths.includes("") || { path: [], issue: 'must contain the page, whose path is ""' }
      })
    )
