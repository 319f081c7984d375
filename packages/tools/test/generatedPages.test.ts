/**
 * Compares the generated pages of docs/ with the sources. If a test fails, run `npm run build:docs`.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { generatePages } from "../src/docs/generatePages.ts"

const root = join(import.meta.dirname, "../../..")
const pages = generatePages()

describe("generated pages", () => {
  it.each([...pages.keys()])("%s matches the sources", (path) => {
    expect(readFileSync(join(root, path), "utf8")).toBe(pages.get(path))
  })

  it("are all pages of docs/reference/api", () => {
    const files = readdirSync(join(root, "docs/reference/api")).map((name) => `docs/reference/api/${name}`)
    expect(files.filter((path) => !pages.has(path))).toEqual([])
  })

  it("have actors that the option `tokens` can produce", () => {
    const ids = [...pages.values()].flatMap((page) =>
      [...page.matchAll(/"actor": \{\s*"type": "token",\s*"id": "(.*)"/g)].map(([, id]) => id)
    )
    expect(ids).not.toEqual([])
    expect(ids.filter((id = "") => !/^[\w-]{16}$/.test(id))).toEqual([])
  })

  it("have a comment for every exported name", () => {
    const uncommented = [...pages].flatMap(([path, page]) =>
      path.startsWith("docs/reference/api/")
        ? page
            .split(/^### /m)
            .slice(1)
            .filter((section) => /^.*\s*(?:$|```|Example:|#)/.test(section))
            .map((section) => `${path}: ${section.split("\n")[0]}`)
        : []
    )
    expect(uncommented).toEqual([])
  })
})
