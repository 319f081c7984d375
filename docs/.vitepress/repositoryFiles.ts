/**
 * Links to files of the repository outside docs/, such as examples. The site has copies of them, as text.
 */
import { copyFileSync, mkdirSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import type { MarkdownRenderer } from "vitepress"
import { docsFolder } from "./pages.ts"

const repository = join(docsFolder, "..")
const linked = new Set<string>()

/** Where the site has the copy of a file. Browsers show every `.txt`. */
const toSitePath = (path: string): string => `/files/${path}.txt`

/** Points links that lead out of docs/ to the copies. */
export const linkRepositoryFiles = (markdown: MarkdownRenderer): void => {
  markdown.core.ruler.push("repository-files", ({ tokens, env }) => {
    for (const link of tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === "link_open")) {
      const href = link.attrGet("href") ?? ""
      if (/^(?:[a-z]+:|#|\/)/.test(href)) continue
      const path = relative(repository, join(docsFolder, dirname(env.relativePath), href.replace(/#.*/, "")))
      if (path.startsWith("docs/")) continue
      linked.add(path)
      link.attrSet("href", toSitePath(path))
      link.attrSet("target", "_blank")
    }
  })
}

export const copyLinkedFiles = (outDir: string): void => {
  for (const path of linked) {
    const target = join(outDir, toSitePath(path))
    mkdirSync(dirname(target), { recursive: true })
    copyFileSync(join(repository, path), target)
  }
}
