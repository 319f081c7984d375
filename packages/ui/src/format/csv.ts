/** Spreadsheets run texts that begin like this as formulas: an apostrophe before them makes them texts. */
const formula = /^[=+\-@\t\r]/

const formatCell = (value: string | number): string => {
  if (typeof value === "number") return String(value)
  const text = formula.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Rows as CSV, with the names of the columns in the first line. */
export const formatCsv = (rows: ReadonlyArray<Readonly<Record<string, string | number>>>): string =>
  [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))]
    .map((cells) => `${cells.map(formatCell).join(",")}\r\n`)
    .join("")
