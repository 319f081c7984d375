/** The parts of Markdown that the generated pages use. */

export const formatTable = (titles: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [titles, titles.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n")

/** A block of JSON, as the formatter of this repository writes it: a list of one text on one line. */
export const formatJson = (value: unknown): string =>
  `\`\`\`json\n${JSON.stringify(value, null, 2).replace(/\[\s+("[^"]*")\s+\]/g, "[$1]")}\n\`\`\``

export const formatText = (text: string): string => `\`\`\`text\n${text}\n\`\`\``

export const formatCode = (value: unknown): string => `\`${value === "" ? '""' : String(value)}\``

/** The anchor that GitHub gives to a heading. */
export const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")

export const linkTo = (heading: string, page = ""): string => `[${heading}](${page}#${toAnchor(heading)})`
