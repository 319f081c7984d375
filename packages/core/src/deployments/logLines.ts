/**
 * The last lines of a log, none too long, and none that could move a terminal's cursor.
 */
const mostLines = 200
const longestLine = 500

const printable = (line: string): string => {
  const text = line.replace(/\p{Cc}/gu, (character) => (character === "\t" ? character : ""))
  return text.length > longestLine ? `${text.slice(0, longestLine).toWellFormed()} …` : text.toWellFormed()
}

export const logLines = (before: ReadonlyArray<string>) => {
  let lines = before.slice(-mostLines)
  let hasNews = false
  return {
    add: (text: string): void => {
      for (const line of text.split(/\r?\n|\r/)) {
        lines.push(printable(line))
        hasNews = true
      }
      if (lines.length > 2 * mostLines) lines = lines.slice(-mostLines)
    },
    /** The last lines, which are then no news any more. */
    lines: (): ReadonlyArray<string> => {
      hasNews = false
      return lines.slice(-mostLines)
    },
    hasNews: (): boolean => hasNews
  }
}
