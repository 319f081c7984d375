/**
 * The last lines of a log, none too long, and none that could move a terminal's cursor.
 */
const maxLines = 200
const maxLineLength = 500

const printable = (line: string): string => {
  const text = line.replace(/\p{Cc}/gu, (character) => (character === "\t" ? character : ""))
  return text.length > maxLineLength ? `${text.slice(0, maxLineLength).toWellFormed()} …` : text.toWellFormed()
}

export const logLines = (before: ReadonlyArray<string>) => {
  let lines = before.slice(-maxLines)
  let hasNews = false
  return {
    add: (text: string): void => {
      for (const line of text.split(/\r?\n|\r/)) {
        lines.push(printable(line))
        hasNews = true
      }
      if (lines.length > 2 * maxLines) lines = lines.slice(-maxLines)
    },
    /** The last lines, which are then no news any more. */
    lines: (): ReadonlyArray<string> => {
      hasNews = false
      return lines.slice(-maxLines)
    },
    hasNews: (): boolean => hasNews
  }
}
