/**
 * Lines of CSV.
 */

const toField = (text: string): string => (/[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Writes lines of CSV. Fields are quoted where they have to be. */
export const toLines = (lines: ReadonlyArray<ReadonlyArray<string | number>>): string =>
  lines.map((fields) => `${fields.map(String).map(toField).join(",")}\r\n`).join("")
