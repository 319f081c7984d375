/**
 * Buffers the last lines of a log. Truncates long lines and strips control characters, which could move a terminal's
 * cursor.
 */
const maxLines = 200
const maxLineLength = 500

const toPrintable = (line: string): string => {
  const text = line.replace(/\p{Cc}/gu, (character) => (character === "\t" ? character : ""))
  return text.length > maxLineLength ? `${text.slice(0, maxLineLength).toWellFormed()} …` : text.toWellFormed()
}

export const makeLogBuffer = (initialLines: ReadonlyArray<string>) => {
  let lines = initialLines.slice(-maxLines)
  let isDirty = false
  return {
    add: (text: string): void => {
      for (const line of text.split(/\r?\n|\r/)) {
        lines.push(toPrintable(line))
        isDirty = true
      }
      if (lines.length > 2 * maxLines) lines = lines.slice(-maxLines)
    },
    /** Returns the last lines and marks them as saved. */
    flush: (): ReadonlyArray<string> => {
      isDirty = false
      return lines.slice(-maxLines)
    },
    isDirty: (): boolean => isDirty
  }
}
