/**
 * Writes everything that is generated for readers: the API reference that servers show, pages of docs/, and the files
 * for language models, which contain the pages.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { generateDocsPage, generatedModule } from "../buildDocsPage.ts"
import { generatePages } from "./generatePages.ts"

writeFileSync(generatedModule, await generateDocsPage())

const pages = generatePages()
rmSync("docs/reference/api", { recursive: true, force: true })
mkdirSync("docs/reference/api", { recursive: true })
for (const [path, text] of pages) writeFileSync(path, text)

const { writeLlmsFiles } = await import("../../../../docs/.vitepress/llmsFiles.ts")
writeLlmsFiles()
