/** The parts of Markdown that the generated pages use. */

/** A table with aligned columns, as the formatter of this repository writes it. */
export const formatTable = (titles: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const lines = [titles, ...rows].map((cells) => cells.map((cell) => cell.replaceAll("|", "\\|")))
  const widths = titles.map((_, column) => Math.max(3, ...lines.map((cells) => cells[column]?.length ?? 0)))
  const [head = [], ...body] = lines
  return [head, widths.map((width) => "-".repeat(width)), ...body]
    .map((cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`)
    .join("\n")
}

/** A block of JSON, as the formatter of this repository writes it: a list of one text on one line. */
export const formatJson = (value: unknown): string =>
  `\`\`\`json\n${JSON.stringify(value, null, 2).replace(/\[\s+("[^"]*")\s+\]/g, "[$1]")}\n\`\`\``

/** A block of text. CSV has the line ends of Windows. */
export const formatText = (text: string): string => `\`\`\`text\n${text.replaceAll("\r\n", "\n").trim()}\n\`\`\``

export const formatCode = (value: unknown): string => `\`${value === "" ? '""' : String(value)}\``

/** The anchor that GitHub gives to a heading. */
export const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")

export const linkTo = (heading: string, page = ""): string => `[${heading}](${page}#${toAnchor(heading)})`
