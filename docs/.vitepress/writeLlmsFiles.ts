/**
 * Writes llms.txt, an index for language models, and llms-full.txt, the whole documentation in one file.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { docsFolder, pages } from "./pages.ts"
import { sidebar } from "./sidebar.ts"

const readIntroduction = (): string =>
  /^# Tollgate\n\n(.*?)\n\n/s
    .exec(readFileSync(join(docsFolder, "../README.md"), "utf8"))?.[1]
    ?.replaceAll("\n", " ") ?? ""

export const renderLlmsIndex = (): string => {
  const groups = sidebar.map(({ text, items }) => {
    const lines = items.map(({ text: title, link }) => {
      const page = pages.find(
        (candidate) => candidate.title === title && `/${candidate.path}`.startsWith(link.replace(/\/$/, ""))
      )
      return `- [${title}](${page?.path}): ${page?.summary}`
    })
    return `## ${text}\n\n${lines.join("\n")}`
  })
  return `# Tollgate\n\n> ${readIntroduction()}\n\n${groups.join("\n\n")}\n`
}

/** The generated API reference is left out: it is long, and in the types of the packages. */
const renderAllPages = (): string => {
  const texts = pages
    .filter(({ path }) => !path.startsWith("reference/api/"))
    .map(({ path, text }) => `<!-- ${path} -->\n\n${text}`)
  return `${readFileSync(join(docsFolder, "../README.md"), "utf8")}\n${texts.join("\n")}`
}

export const writeLlmsFiles = (outDir: string): void => {
  writeFileSync(join(outDir, "llms.txt"), renderLlmsIndex())
  writeFileSync(join(outDir, "llms-full.txt"), renderAllPages())
}
