/** The parts of Markdown that the generated pages use. */
import { execFileSync } from "node:child_process"
import { toAnchor } from "../../../../docs/.vitepress/toAnchor.ts"

/** Formats a page as `npm run format` does, so that both agree. */
export const formatPage = (text: string): string =>
  execFileSync("node_modules/.bin/biome", ["format", "--stdin-file-path=page.md"], {
    input: `${text}\n`,
    encoding: "utf8"
  })

const formatRow = (cells: ReadonlyArray<string>): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`

export const formatTable = (titles: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [titles, titles.map(() => "---"), ...rows].map(formatRow).join("\n")

export const formatJson = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``

/** A block of text. CSV has the line ends of Windows. */
export const formatText = (text: string): string => `\`\`\`text\n${text.replaceAll("\r\n", "\n").trim()}\n\`\`\``

export const formatCode = (value: unknown): string => `\`${value === "" ? '""' : String(value)}\``

export const linkTo = (heading: string, page = ""): string => `[${heading}](${page}#${toAnchor(heading)})`
