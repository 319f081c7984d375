/**
 * The files for language models: llms.txt, an index, and llms-full.txt, the whole documentation. `npm run build:docs`
 * writes both; a test fails when they do not match the pages.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { groups } from "./groups.ts"
import { docsFolder, pages } from "./pages.ts"

const readme = readFileSync(join(docsFolder, "../README.md"), "utf8")

const renderIndex = (): string => {
  const introduction = /^# Tollgate\n\n(.*?)\n\n/s.exec(readme)?.[1]?.replaceAll("\n", " ")
  const lists = groups.map(({ title, pages }) => {
    const links = pages.map((page) => `- [${page.title}](${page.path}): ${page.summary}`)
    return `## ${title}\n\n${links.join("\n")}`
  })
  return `# Tollgate\n\n> ${introduction}\n\n${lists.join("\n\n")}\n`
}

/** Without the generated API reference: it is long, and the types of the packages say the same. */
const renderAll = (): string => {
  const texts = pages.flatMap(({ path, text }) =>
    path.startsWith("reference/api/") ? [] : [`<!-- docs/${path} -->\n\n${text}`]
  )
  return [readme, ...texts].join("\n")
}

export const llmsFiles: Readonly<Record<string, string>> = { "llms.txt": renderIndex(), "llms-full.txt": renderAll() }

export const writeLlmsFiles = (): void => {
  for (const [name, text] of Object.entries(llmsFiles)) writeFileSync(join(docsFolder, name), text)
}
