import { hash } from "node:crypto"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync, gzipSync } from "node:zlib"
import { beforeAll, describe, expect, it } from "vitest"
import type { BuiltFile } from "../../ui/build/buildApp.ts"
import { buildConsole } from "../build/buildConsole.ts"
import { files } from "../src/files.generated.ts"

/** What the first view may weigh over the wire, in bytes of gzip. */
const firstViewBudget = 60_000
/** What the whole console may weigh: each page is loaded when it is opened. */
const totalBudget = 150_000

let built: ReadonlyArray<BuiltFile>
beforeAll(async () => {
  built = await buildConsole()
})

const measure = (files: ReadonlyArray<BuiltFile>): number =>
  files.reduce((total, { content }) => total + gzipSync(content).length, 0)

/** The page, and every file that it or a file that it loads at once names in a static import. */
const findFirstView = (): ReadonlyArray<BuiltFile> => {
  const found = new Set(built.filter(({ path }) => path === ""))
  for (const file of found) {
    const names = [
      ...file.content.matchAll(/(?:src|href)="\.\/([^"]+)"/g),
      ...file.content.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)
    ].map(([, name]) => name)
    for (const other of built) if (names.includes(other.path)) found.add(other)
  }
  return [...found]
}

describe("the files of the console", () => {
  it("are those that the package carries: run npm run build:console after a change", () => {
    // By hash: a difference of the contents would fill the terminal.
    const toHashes = (files: ReadonlyArray<{ readonly path: string; readonly content: string }>) =>
      files.map(({ path, content }) => `${path} ${hash("sha256", content)}`)
    const carried = files.map(({ path, gzipBase64 }) => ({
      path,
      content: gunzipSync(Buffer.from(gzipBase64, "base64")).toString()
    }))
    expect(toHashes(carried)).toEqual(toHashes(built))
    const toTypes = (files: ReadonlyArray<Omit<BuiltFile, "content">>) =>
      files.map(({ path, contentType, isImmutable }) => [path, contentType, isImmutable])
    expect(toTypes(files)).toEqual(toTypes(built))
  })

  it("fit the budget of the first view: the page, its script and style, and a page with a plot", () => {
    const firstView = findFirstView()
    expect(firstView.length).toBeGreaterThanOrEqual(3)
    const overview = built.filter(({ path }) => /^(OverviewPage|uPlot|Plot)/i.test(path))
    const size = measure([...new Set([...firstView, ...overview])])
    console.log(`First view: ${measure(firstView)} bytes of gzip, with the overview and its plots ${size}`)
    expect(size).toBeLessThanOrEqual(firstViewBudget)
    expect(measure(built)).toBeLessThanOrEqual(totalBudget)
  })

  it("contain nothing inline and name no other host", () => {
    const page = built.find(({ path }) => path === "")?.content ?? ""
    expect(page).not.toMatch(/<style|style=|\son[a-z]+=|<script(?![^>]*\ssrc=)/i)
    expect(page.match(/(?:src|href)="[^"]*"/g)?.every((link) => /"(?:\.\/|data:,)/.test(link))).toBe(true)
    for (const { path, content } of built) {
      expect(`${path}: ${content.match(/url\((?!#)[^)]*\)|@import/g)?.join() ?? "none"}`).toBe(`${path}: none`)
      expect(`${path}: ${content.match(/\b(?:eval|Function)\(/g)?.join() ?? "none"}`).toBe(`${path}: none`)
    }
  })

  it("write no HTML of their own: every text is text", () => {
    const packages = fileURLToPath(new URL("../..", import.meta.url))
    const sources = globSync("{console/app,ui/src}/**/*.{ts,tsx}", { cwd: packages })
    expect(sources.length).toBeGreaterThan(40)
    const forbidden = /innerHTML|outerHTML|insertAdjacentHTML|document\.write/i
    expect(sources.filter((name) => forbidden.test(readFileSync(join(packages, name), "utf8")))).toEqual([])
  })
})
