import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { findFileCycle, findFolderCycle } from "../src/checkFolders.ts"

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "tollgate-folders-"))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const write = (path: string, ...imports: ReadonlyArray<string>) => {
  mkdirSync(join(root, path, ".."), { recursive: true })
  writeFileSync(join(root, path), imports.map((specifier) => `import type { A } from "${specifier}"\n`).join(""))
}

it("accepts folders that import each other in one direction", () => {
  write("index.ts", "./keys/ApiKeys.ts", "./store/Store.ts")
  write("keys/ApiKeys.ts", "../store/Store.ts", "./Key.ts", "effect")
  write("keys/Key.ts")
  write("store/Store.ts")
  expect(findFolderCycle(root)).toBeUndefined()
})

it("names the folders and the files of a circle, also of type imports", () => {
  write("keys/ApiKeys.ts", "../consumers/Consumer.ts")
  write("consumers/Consumer.ts", "../store/Store.ts")
  write("store/Store.ts", "../keys/Key.ts")
  write("keys/Key.ts")
  expect(findFolderCycle(root)).toContain("keys → consumers (keys/ApiKeys.ts)")
  expect(findFolderCycle(root)).toContain("store → keys (store/Store.ts)")
  expect(findFileCycle(root)).toBeUndefined()
})

it("names the files of a circle in one folder, also of type imports", () => {
  write("store/Store.ts", "./StoreContents.ts")
  write("store/StoreContents.ts", "./validateEntries.ts")
  write("store/validateEntries.ts", "./StoreContents.ts")
  expect(findFolderCycle(root)).toBeUndefined()
  expect(findFileCycle(root)).toBe("store/StoreContents.ts → store/validateEntries.ts → store/StoreContents.ts")
})
