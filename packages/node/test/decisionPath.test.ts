/**
 * How long the way of a decision is: the functions of Tollgate, and their files, that run for one request to a protected
 * route of Express. A way that gets longer fails here. Raise a number only with the reason in the commit.
 *
 * `decisionPath.txt` lists the functions, so that a failure can name those that are new. To renew it:
 * `DECISION_PATH=write npx vitest run --config vitest.workspace.ts packages/node/test/decisionPath.test.ts`.
 */
import { execFile } from "node:child_process"
import { readFile, writeFile } from "node:fs/promises"
import { promisify } from "node:util"
import { temporaryFolder } from "@tollgate/testing"
import { Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"

const worker = new URL("./decisionPath.worker.ts", import.meta.url).pathname
const list = new URL("./decisionPath.txt", import.meta.url)

type Route = "key" | "meter"
let traced: Readonly<Record<string, Readonly<Record<Route, ReadonlyArray<string>>>>>
let known: ReadonlyArray<string>

beforeAll(async () => {
  // In a process of its own, on the sources: what transforms them for tests adds functions.
  const { stdout } = await Effect.runPromise(
    Effect.scoped(
      Effect.flatMap(temporaryFolder, (folder) =>
        Effect.promise(() =>
          promisify(execFile)(process.execPath, ["--conditions=@tollgate/source", worker, folder], { maxBuffer: 1e7 })
        )
      )
    )
  )
  traced = JSON.parse(stdout)
  const all = new Set(Object.values(traced).flatMap(({ key, meter }) => [...key, ...meter]))
  if (process.env["DECISION_PATH"] === "write") await writeFile(list, `${[...all].sort().join("\n")}\n`)
  known = (await readFile(list, "utf8")).split("\n")
})

const countFiles = (functions: ReadonlyArray<string>): number =>
  new Set(functions.map((name) => name.slice(0, name.indexOf(" ")))).size

describe("the way of a decision", () => {
  it.each<readonly [string, string, Route, number, number]>([
    ["a key", "memory", "key", 52, 27],
    ["a key", "SQLite", "key", 56, 28],
    ["a key, a limit and a meter", "memory", "meter", 93, 44],
    ["a key, a limit and a meter", "SQLite", "meter", 110, 50]
  ])("with %s on %s stays short", (_, store, route, maxFunctions, maxFiles) => {
    const functions = traced[store]?.[route] ?? []
    const added = functions.filter((name) => !known.includes(name)).join("\n")
    expect(functions.length, `${functions.length} functions. New are:\n${added}`).toBeLessThanOrEqual(maxFunctions)
    expect(countFiles(functions), `New are:\n${added}`).toBeLessThanOrEqual(maxFiles)
    // Nothing is missing: the way begins in the binding and ends in the store.
    expect(functions).toContain("express/src/index.ts header")
    expect(functions).toContain("store/src/crypto/SecretBox.ts hashWith")
  })
})
