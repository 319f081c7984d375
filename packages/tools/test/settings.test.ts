/**
 * Compares the tables of docs/reference/settings.md with the options that `createTollgate` takes and with the variables
 * that `npm start` reads.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { createTollgate, type TollgateOptions } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"

const root = join(import.meta.dirname, "../../..")
const page = readFileSync(join(root, "docs/reference/settings.md"), "utf8")
const startOfVariables = page.indexOf("## Settings of `npm start`")

const listNames = (section: string): ReadonlyArray<string> =>
  [...section.matchAll(/^\| (`.+?`) +\|/gm)].flatMap(([, cell = ""]) => cell.replaceAll("`", "").split(", ")).sort()

it("lists exactly the options of createTollgate", async () => {
  const options = { store: MemoryStore.open(), secret: "a secret that only this test uses", misspelled: true }
  const error = await createTollgate(options as TollgateOptions).catch(String)
  const [, known = ""] = /the options are (.*)$/.exec(String(error)) ?? []
  expect(listNames(page.slice(0, startOfVariables))).toEqual(known.split(", ").sort())
})

it("lists exactly the variables of npm start", () => {
  const source = readFileSync(join(root, "examples/express-sqlite/src/settings.ts"), "utf8")
  const read = [...source.matchAll(/getVariable\("([A-Z_]+)"\)/g)].map(([, name]) => name)
  expect(listNames(page.slice(startOfVariables))).toEqual(read.sort())
})
