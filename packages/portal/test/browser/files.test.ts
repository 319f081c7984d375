import { hash } from "node:crypto"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync, gzipSync } from "node:zlib"
import { beforeAll, describe, expect, it } from "vitest"
import type { BuiltFile } from "../../../ui/build/buildApp.ts"
import { buildPortal } from "../../build/buildPortal.ts"
import { files } from "../../src/files.generated.ts"

/** What the whole page may weigh over the wire, with its plots, in bytes of gzip. */
const budget = 60_000

let built: ReadonlyArray<BuiltFile>
beforeAll(async () => {
  built = await buildPortal()
})

describe("the files of the portal", () => {
  it("are those that the package carries: run npm run build:portal after a change", () => {
    const carried = files.map(
      ({ path, gzipBase64 }) => `${path} ${hash("sha256", gunzipSync(Buffer.from(gzipBase64, "base64")))}`
    )
    expect(carried).toEqual(built.map(({ path, content }) => `${path} ${hash("sha256", content)}`))
  })

  it("fit the budget", () => {
    const sizes = built.map(({ path, content }) => [path, gzipSync(content).length] as const)
    const total = sizes.reduce((sum, [, size]) => sum + size, 0)
    console.log(`The portal: ${total} bytes of gzip: ${sizes.map((size) => size.join(" ")).join(", ")}`)
    expect(total).toBeLessThanOrEqual(budget)
  })

  it("contain nothing inline, name no other host and write no HTML of their own", () => {
    const page = built.find(({ path }) => path === "")?.content ?? ""
    expect(page).not.toMatch(/<style|style=|\son[a-z]+=|<script(?![^>]*\ssrc=)/i)
    for (const { path, content } of built) {
      expect(`${path}: ${content.match(/url\((?!#)[^)]*\)|@import|\b(?:eval|Function)\(/g)?.join() ?? "none"}`).toBe(
        `${path}: none`
      )
    }
    const app = fileURLToPath(new URL("../../app", import.meta.url))
    const sources = globSync("**/*.{ts,tsx}", { cwd: app })
    expect(sources.length).toBeGreaterThan(20)
    const forbidden = /innerHTML|outerHTML|insertAdjacentHTML|document\.write/i
    expect(sources.filter((name) => forbidden.test(readFileSync(join(app, name), "utf8")))).toEqual([])
  })
})
