/**
 * Buffers the last lines of a log, and counts those before them. Truncates long lines and strips control characters, which
 * could move a terminal's cursor.
 */
import type { Version } from "../model/deploymentRecords.ts"

const maxLines = 200
const maxLineLength = 500

const toPrintable = (line: string): string => {
  const text = line.replace(/\p{Cc}/gu, (character) => (character === "\t" ? character : ""))
  return text.length > maxLineLength ? `${text.slice(0, maxLineLength).toWellFormed()} …` : text.toWellFormed()
}

/** Goes on with the log of a version. */
export const makeLogBuffer = ({ buildResult, logStart = 0 }: Version) => {
  let lines = [...buildResult.log]
  let start = logStart
  let isDirty = false
  return {
    add: (text: string): void => {
      for (const line of text.split(/\r?\n|\r/)) {
        lines.push(toPrintable(line))
        isDirty = true
      }
      if (lines.length <= 2 * maxLines) return
      start += lines.length - maxLines
      lines = lines.slice(-maxLines)
    },
    /** Returns the version with the last lines, and `more` after them, and marks them as saved. */
    flush: (version: Version, ...more: ReadonlyArray<string>): Version => {
      isDirty = false
      const all = [...lines, ...more]
      const log = all.slice(-maxLines)
      return { ...version, buildResult: { ...version.buildResult, log }, logStart: start + all.length - log.length }
    },
    isDirty: (): boolean => isDirty
  }
}
