/**
 * The files of a console, and their checks.
 */
import { type AppFile, appFilesOption, Options } from "@tollgate/core/module"

/** The files of a console. */
export interface Console {
  readonly files: ReadonlyArray<AppFile>
}

/** The path below `/console/` that exchanges codes for session tokens. */
export const sessionFile = "session"

export const consoleOption = Options.struct<Console>()({ files: appFilesOption(sessionFile) })
