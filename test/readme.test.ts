/**
 * Every TypeScript snippet of the READMEs is run as it stands.
 */
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, describe, it } from "@effect/vitest"
import { startRedis } from "@tollgate/testing"
import { Effect } from "effect"

const root = join(import.meta.dirname, "..")
const folder = mkdtempSync(join(root, ".readme-"))
mkdirSync(join(folder, "data"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const packages = readdirSync(join(root, "packages")).map((name) => join("packages", name, "README.md"))

const snippets = ["README.md", ...packages.filter((path) => existsSync(join(root, path)))].flatMap((path) =>
  [...readFileSync(join(root, path), "utf8").matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""], index) => ({
    name: `${path}, snippet ${index + 1}`,
    file: `${path.replaceAll("/", "-")}-${index}.ts`,
    code
  }))
)

// Snippets that register tests do so here; the others are programs of their own.
for (const { code, file } of snippets.filter(({ code }) => code.includes("storeContract("))) {
  const path = join(folder, file)
  writeFileSync(path, code)
  await import(path)
}

const env = { ...process.env, TOLLGATE_SECRET: "a secret of the tests, and of nobody else" }

describe("the READMEs", () => {
  for (const { name, code, file } of snippets.filter(({ code }) => !code.includes("storeContract("))) {
    it.live(
      name,
      () =>
        Effect.gen(function* () {
          const { url } = yield* startRedis()
          const path = join(folder, file)
          writeFileSync(path, code.replaceAll("redis://localhost:6379", url))
          const { stdout } = yield* Effect.promise(() =>
            promisify(execFile)(process.execPath, ["--conditions=source", path], { cwd: folder, env })
          )
          // A comment behind console.log, or one that begins with "prints", is what is printed.
          const printed = [...code.matchAll(/(?:console\.log\(.*\) \/\/ |\/\/ prints: )(.*)/g)].map(([, text]) => text)
          if (printed.length > 0) yield* Effect.sync(() => expectPrinted(stdout, printed))
        }),
      30_000
    )
  }
})

const expectPrinted = (stdout: string, printed: ReadonlyArray<string | undefined>): void => {
  if (stdout.trim() !== printed.join("\n")) throw new Error(`It printed ${stdout} instead of ${printed.join("\n")}`)
}
