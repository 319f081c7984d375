/**
 * Every TypeScript snippet of the README is run as it stands.
 */
import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, describe, it } from "@effect/vitest"
import { startRedis } from "@tollgate/testing"
import { Effect } from "effect"

const root = join(import.meta.dirname, "..")
const folder = mkdtempSync(join(root, ".readme-"))
mkdirSync(join(folder, "data"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const snippets = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```ts\n(.*?)```/gs)].map(
  ([, code = ""], index) => ({ name: `snippet ${index + 1}: ${code.trim().split("\n").at(-1)}`, code, index })
)

// Snippets that register tests do so here; the others are programs of their own.
for (const { code, index } of snippets.filter(({ code }) => code.includes("storeContract("))) {
  const path = join(folder, `${index}.ts`)
  writeFileSync(path, code)
  await import(path)
}

describe("the README", () => {
  for (const { name, code, index } of snippets.filter(({ code }) => !code.includes("storeContract("))) {
    it.live(
      name,
      () =>
        Effect.gen(function* () {
          const { url } = yield* startRedis()
          const path = join(folder, `${index}.ts`)
          writeFileSync(path, code.replaceAll("redis://localhost:6379", url))
          const { stdout } = yield* Effect.promise(() =>
            promisify(execFile)(process.execPath, ["--conditions=source", path], { cwd: folder })
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
