/**
 * Files of the repository that the site has as text: those outside docs/ that pages link to, such as examples, and the
 * sources of the pages, for language models.
 */
import { copyFileSync, mkdirSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import type { MarkdownRenderer } from "vitepress"
import { llmsFiles } from "./llmsFiles.ts"
import { docsFolder, pages } from "./pages.ts"

const repository = join(docsFolder, "..")
const linked = new Set<string>()

/** Where the site has the copy of a file. Browsers show every `.txt`. */
const toSitePath = (path: string): string => `/files/${path}.txt`

/** Points links that lead out of docs/ to the copies, and those to a README.md to the index of its folder. */
export const linkRepositoryFiles = (markdown: MarkdownRenderer): void => {
  markdown.core.ruler.push("repository-files", ({ tokens, env }) => {
    for (const link of tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === "link_open")) {
      const href = link.attrGet("href") ?? ""
      if (/^(?:[a-z]+:|#|\/)/.test(href)) continue
      const path = relative(repository, join(docsFolder, dirname(env.relativePath), href.replace(/#.*/, "")))
      if (path.startsWith("docs/")) {
        link.attrSet("href", href.replace(/README\.md(?=#|$)/, "index.md"))
        continue
      }
      linked.add(path)
      link.attrSet("href", toSitePath(path))
      link.attrSet("target", "_blank")
    }
  })
}

const copy = (from: string, to: string): void => {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
}

export const copyRepositoryFiles = (outDir: string): void => {
  for (const path of linked) copy(join(repository, path), join(outDir, toSitePath(path)))
  for (const path of [...Object.keys(llmsFiles), ...pages.map(({ path }) => path)]) {
    copy(join(docsFolder, path), join(outDir, path))
  }
}
