/**
 * Runs every TypeScript snippet of the READMEs and of docs/ as it stands, and compares the reference tables with the code.
 */
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Api } from "@tollgate/core"
import { startRedis } from "@tollgate/testing"
import { Effect } from "effect"
import { OpenApi } from "effect/http-api"

const root = join(import.meta.dirname, "../../..")
const folder = mkdtempSync(join(root, ".readme-"))
mkdirSync(join(folder, "data"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const read = (path: string): string => readFileSync(join(root, path), "utf8")

const packages = readdirSync(join(root, "packages")).map((name) => join("packages", name, "README.md"))
const docs = readdirSync(join(root, "docs"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => join("docs", name))

const snippets = ["README.md", ...docs, ...packages.filter((path) => existsSync(join(root, path)))].flatMap((path) =>
  [...read(path).matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""], index) => ({
    name: `${path}, snippet ${index + 1}`,
    file: `${path.replaceAll("/", "-")}-${index}.ts`,
    code
  }))
)

// Snippets that register tests run in this process; the others are programs.
for (const { code, file } of snippets.filter(({ code }) => code.includes("storeContract("))) {
  const path = join(folder, file)
  writeFileSync(path, code)
  await import(path)
}

const env = { ...process.env, TOLLGATE_SECRET: "a secret that only these tests use" }
const redisUrl = "redis://localhost:6379"

describe("snippets", () => {
  for (const { name, code, file } of snippets.filter(({ code }) => !code.includes("storeContract("))) {
    it.live(
      name,
      () =>
        Effect.gen(function* () {
          const url = code.includes(redisUrl) ? (yield* startRedis()).url : redisUrl
          const path = join(folder, file)
          writeFileSync(path, code.replaceAll(redisUrl, url))
          const { stdout } = yield* Effect.promise(() =>
            promisify(execFile)(process.execPath, ["--conditions=source", path], { cwd: folder, env })
          )
          // A comment after console.log, or one that begins with "prints", is the expected output.
          const printed = [...code.matchAll(/(?:console\.log\(.*\) \/\/ |\/\/ prints: )(.*)/g)].map(([, text]) => text)
          if (printed.length > 0) expect(stdout.trim()).toBe(printed.join("\n"))
        }),
      30_000
    )
  }
})

describe("docs/http-api.md", () => {
  const page = read("docs/http-api.md")

  it("lists every operation and no other", () => {
    const described = Object.entries(OpenApi.fromApi(Api).paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
    )
    const listed = [...page.matchAll(/\| `([A-Z]+ \/\S+)` +\|/g)].map(([, operation]) => operation)
    expect(listed.sort()).toEqual(described.sort())
  })

  it("lists every problem with its status and no other", () => {
    const declared = [...read("packages/core/src/api/problems.ts").matchAll(/problemType\("([a-z-]+)", (\d+)/g)]
    const listed = [...page.matchAll(/^\| `([a-z-]+)` +\| (\d{3}) +\|/gm)]
    const rows = (matches: ReadonlyArray<RegExpExecArray>) => matches.map(([, code, status]) => `${code} ${status}`)
    expect(rows(listed).sort()).toEqual(rows(declared).sort())
  })
})

it("the README fits one screen", () => {
  const words = read("README.md")
    .replace(/^```.*?^```$/gms, "")
    .split(/\s+/)
  expect(words.length).toBeLessThanOrEqual(450)
})

describe("links", () => {
  const pages = ["README.md", "CHANGELOG.md", ...docs, ...packages.filter((path) => existsSync(join(root, path)))]
  const slug = (heading: string): string =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
  const anchors = (path: string) => [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => slug(heading))

  it.each(pages)("of %s lead somewhere", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
    const broken = links.filter(([, target = "", anchor]) => {
      const path = target === "" ? page : join(page, "..", target)
      return !existsSync(join(root, path)) || (anchor !== undefined && !anchors(path).includes(anchor))
    })
    expect(broken.map(([link]) => link)).toEqual([])
  })
})
