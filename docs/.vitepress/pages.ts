/**
 * The pages of the documentation, in the order in which they are read: that of the links in docs/README.md.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export const docsFolder = join(import.meta.dirname, "..")

export interface Page {
  /** The path below docs/, such as `guides/portal.md`. */
  readonly path: string
  readonly title: string
  /** The first paragraph. */
  readonly summary: string
  readonly text: string
}

const readPage = (path: string): Page => {
  const text = readFileSync(join(docsFolder, path), "utf8")
  const title = /^# (.*)$/m.exec(text)?.[1] ?? path
  const summary = text
    .split(/\n\n+/)
    .find((part) => /^[A-Za-z`["*]/.test(part))
    ?.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replaceAll("\n", " ")
  return { path, title, summary: summary ?? "", text }
}

const listFiles = (): ReadonlyArray<string> =>
  readdirSync(docsFolder, { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".md") && path !== "README.md" && !path.startsWith(".vitepress")
  )

/** The sections of docs/README.md, which link to every page. */
export const index = readFileSync(join(docsFolder, "README.md"), "utf8").replace(/^.*?(?=^## )/ms, "")

/** The page of each path that docs/README.md links to, then those that it does not. */
export const pages: ReadonlyArray<Page> = (() => {
  const files = listFiles()
  const linked = [...index.matchAll(/\]\(([^)#:]+\.md)\)/g)]
    .map(([, path = ""]) => path)
    .filter((path) => files.includes(path))
  return [...new Set([...linked, ...[...files].sort()])].map(readPage)
})()
