/**
 * Runs every TypeScript snippet of the READMEs and of docs/, and compares the reference tables with the code.
 */
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { type Instrument, toPrometheusName } from "@tollgate/core/internal"
import { getNodeOptions, startPostgres, startRedis } from "@tollgate/testing"
import { Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { toAnchor } from "../../../docs/.vitepress/toAnchor.ts"
import { Api } from "../../core/test/allModules.ts"
import { allInstruments } from "../src/docs/allModules.ts"
import { withEnd } from "../src/readme.ts"

const root = join(import.meta.dirname, "../../..")
const folder = mkdtempSync(join(root, ".readme-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const read = (path: string): string => readFileSync(join(root, path), "utf8")

const packageReadmes = readdirSync(join(root, "packages")).map((name) => join("packages", name, "README.md"))
const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md") && !name.startsWith(".vitepress"))
  .map((name) => join("docs", name))

const snippets = ["README.md", ...docs, ...packageReadmes.filter((path) => existsSync(join(root, path)))].flatMap(
  (path) =>
    // A label with a dot names a file that the block is a part of. Others name a tab.
    [...read(path).matchAll(/```ts(?: \[[^\].]*\])?\n(.*?)```/gs)].map(([, code = ""], index) => ({
      name: `${path}, snippet ${index + 1}`,
      file: `${path.replaceAll("/", "-")}-${index}.ts`,
      code
    }))
)

/** Snippets that register tests of Vitest are imported here. The others run as programs. */
const registersTests = ({ code }: { readonly code: string }): boolean =>
  /storeContract\(|from "(@effect\/)?vitest"/.test(code)

for (const { name, code, file } of snippets.filter(registersTests)) {
  const path = join(folder, file)
  writeFileSync(path, code)
  // The hooks of a snippet apply to its own tests only.
  describe(name, () => import(path))
}

const env = {
  ...process.env,
  TOLLGATE_SECRET: "a secret that only these tests use",
  TOLLGATE_TOKEN: "a-management-token-of-these-tests",
  NEW_SECRET: "another secret that only these tests use",
  PORT: "0"
}

/** The URLs in snippets that stand for a server. Each is replaced by that of a real one. */
const servers = { "redis://localhost:6379": startRedis, "postgres://localhost/app": startPostgres }

/** Many start at once, some of them servers. */
const snippetTimeout = 600_000
/** A program that does not end is stopped, so that what it printed can be read. */
const programTimeout = 300_000

describe("snippets", { concurrent: true }, () => {
  for (const { name, code, file } of snippets.filter((snippet) => !registersTests(snippet))) {
    it.live(
      name,
      () =>
        Effect.gen(function* () {
          let program = code
          for (const [placeholder, start] of Object.entries(servers)) {
            if (code.includes(placeholder)) program = program.replaceAll(placeholder, (yield* start()).url)
          }
          // Each runs in a folder of its own, with the folders that snippets write to.
          const cwd = mkdtempSync(join(folder, "snippet-"))
          for (const name of ["data", "backup"]) mkdirSync(join(cwd, name))
          writeFileSync(join(cwd, file), withEnd(program))
          const { stdout } = yield* Effect.promise(() =>
            promisify(execFile)(process.execPath, [...getNodeOptions(), file], {
              cwd,
              env,
              timeout: programTimeout
            }).catch(({ message, stdout }) => Promise.reject(new Error(`${message}\n${stdout}`)))
          )
          // A comment after console.log, or one that begins with "prints:", contains the expected output.
          const expectedLines = [...code.matchAll(/(?:console\.log\(.*\) \/\/ |\/\/ prints: )(.*)/g)].map(
            ([, line]) => line
          )
          if (expectedLines.length > 0) expect(stdout.trim()).toBe(expectedLines.join("\n"))
        }),
      snippetTimeout
    )
  }
})

const withoutIndentation = (code: string) => code.replace(/^ +/gm, "")

describe.each([
  ["docs/guides/writing-a-module.md", "examples/module"],
  ["docs/guides/saas.md", "examples/saas"]
])("%s", (page, example) => {
  const excerpts = [...read(page).matchAll(/```ts \[(.*?)\]\n(.*?)```/gs)]

  it("quotes the files of the example", () => {
    expect(excerpts.length).toBeGreaterThan(10)
    for (const [, file = "", excerpt = ""] of excerpts) {
      expect(withoutIndentation(read(join(example, file)))).toContain(withoutIndentation(excerpt))
    }
  })
})

describe("docs/guides/saas.md", () => {
  const toLines = (code: string) => withoutIndentation(code).split("\n").filter(Boolean)

  it("contains every line of the program", () => {
    const excerpts = [...read("docs/guides/saas.md").matchAll(/```ts \[src\/(.*?)\]\n(.*?)```/gs)]
    for (const file of readdirSync(join(root, "examples/saas/src"))) {
      const code = excerpts.flatMap(([, name, excerpt = ""]) => (name === file ? toLines(excerpt) : []))
      expect(code).toEqual(toLines(read(join("examples/saas/src", file))))
    }
  })
})

describe("docs/recipes/sign-in.md", () => {
  it("contains the files of the example", () => {
    const blocks = [...read("docs/recipes/sign-in.md").matchAll(/```ts \[(.*?)\]\n(.*?)```/gs)]
    const files = readdirSync(join(root, "examples/sign-in/src")).map((name) => join("src", name))
    expect(Object.fromEntries(blocks.map(([, file, code = ""]) => [file, code]))).toEqual(
      Object.fromEntries(files.map((file) => [file, read(join("examples/sign-in", file))]))
    )
  })
})

describe("docs/reference/http-api.md", () => {
  const page = read("docs/reference/http-api.md")

  it("lists exactly the operations of the API", () => {
    const operations = Object.entries(OpenApi.fromApi(Api).paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
    )
    const listed = [...page.matchAll(/\| `([A-Z]+ \/\S+)` +\|/g)].map(([, operation]) => operation)
    expect(listed.sort()).toEqual(operations.sort())
  })
})

describe("docs/operations", () => {
  const page = read("docs/operations/metrics.md")
  const toName = (instrument: Instrument): string => toPrometheusName(instrument).replaceAll(".", "_")

  it("metrics.md lists exactly the metrics, with their types, units and attributes", () => {
    const rows = [...page.matchAll(/^\| (`[a-z_.]+` +\| `[a-z_]+` +\| (?:counter|gauge|histogram) .*) \|$/gm)].map(
      ([, row = ""]) => row.split("|").map((cell) => cell.trim())
    )
    const expected = allInstruments.map((instrument) => [
      `\`${instrument.name}\``,
      `\`${toName(instrument)}\``,
      instrument.kind,
      `\`${instrument.unit}\``,
      instrument.attributes.map((attribute) => `\`${attribute}\``).join(", ") || "none",
      instrument.description
    ])
    expect(rows).toEqual(expected)
  })

  it("metrics.md lists the values of exactly the attributes that metrics have", () => {
    const table = page.slice(page.indexOf("| Attribute "))
    const listed = [...table.matchAll(/^\| `([a-z_.]+)` +\|/gm)].map(([, name]) => name)
    expect(listed.sort()).toEqual([...new Set(allInstruments.flatMap(({ attributes }) => attributes))].sort())
  })

  it("alerts.md watches only metrics and attributes that exist", () => {
    const expressions = [...read("docs/operations/alerts.md").matchAll(/^\|[^|`]+\| `([^`]+)` +\|/gm)].map(
      ([, expression = ""]) => expression
    )
    expect(expressions.length).toBeGreaterThan(15)
    const series = new Map(
      allInstruments.flatMap((instrument) => {
        const labels = instrument.attributes.map((attribute) => attribute.replaceAll(".", "_"))
        const suffixes = instrument.kind === "histogram" ? ["_bucket", "_sum", "_count"] : [""]
        return suffixes.map((suffix) => [`${toName(instrument)}${suffix}`, labels] as const)
      })
    )
    const unknown = expressions.flatMap((expression) =>
      [...expression.matchAll(/\b((?:tollgate|http|db)_[a-z_]+)(?:\{([^}]*)\})?(?=[[{) ])/g)].flatMap(
        ([, name = "", matchers = ""]) => {
          const labels = [...matchers.matchAll(/([a-z_]+)(?:=|!=|!~|=~)"/g)].map(([, label = ""]) => label)
          const known = series.get(name)
          if (known === undefined) return [...series.values()].flat().includes(name) ? [] : [name]
          return labels.filter((label) => !known.includes(label)).map((label) => `${name}{${label}}`)
        }
      )
    )
    expect(unknown).toEqual([])
  })
})

it("keeps the README within 450 words", () => {
  const words = read("README.md")
    .replace(/^```.*?^```$/gms, "")
    .split(/\s+/)
  expect(words.length).toBeLessThanOrEqual(450)
})

describe("links", () => {
  const examples = readdirSync(join(root, "examples")).map((name) => join("examples", name, "README.md"))
  const readmes = [...packageReadmes, ...examples].filter((path) => existsSync(join(root, path)))
  const projectPages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", ".changeset/README.md"]
  const pages = [...projectPages, ...docs, ...readmes]
  const getAnchors = (path: string) =>
    [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => toAnchor(heading))

  it.each(pages)("in %s are not broken", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
    const broken = links.filter(([, target = "", anchor]) => {
      const path = target === "" ? page : join(page, "..", target)
      return !existsSync(join(root, path)) || (anchor !== undefined && !getAnchors(path).includes(anchor))
    })
    expect(broken.map(([link]) => link)).toEqual([])
  })
})
