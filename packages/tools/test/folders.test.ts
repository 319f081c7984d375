import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { countLines, findFileCycle, findFolderCycle, findName } from "../src/checkFolders.ts"
import { findModuleState } from "../src/moduleState.ts"

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

it("finds a name in code, and not in comments and texts", () => {
  mkdirSync(join(root, "outbox"))
  const path = join(root, "outbox/outbox.ts")
  writeFileSync(path, '/** Not for webhooks. */\nconst hint = "such as webhooks()"\n// webhooks\n')
  expect(findName(root, /webhook/)).toBeUndefined()
  expect(countLines(root)).toBe(3)
  writeFileSync(path, 'const prefix = "webhook/"\n')
  expect(findName(root, /webhook/)).toBe("webhook (outbox/outbox.ts)")
  writeFileSync(path, "export const reencryptWebhooks = 1\n")
  expect(findName(root, /webhook/)).toBe("reencryptWebhooks (outbox/outbox.ts)")
})

it("finds state at the level of a module", () => {
  const find = (source: string) => findModuleState("core/src/a.ts", source)
  for (const source of [
    "let last = 0\n",
    "export let last: string | undefined\n",
    "const cache = new BoundedMap<string, Networks>(1_000)\n",
    "const cache: Map<string, string> = new Map()\n",
    "export const cache =\n  new WeakMap<object, string>()\n",
    "const queue: Array<string> = []\n",
    "const byName: Record<string, number> = {}\n"
  ]) {
    expect(find(source), source).toHaveLength(1)
  }
  for (const source of [
    "const make = () => {\n  const cache = new Map()\n  let last = 0\n}\n",
    'const names: ReadonlySet<string> = new Set(["a"])\n',
    "const none: ReadonlyArray<string> = []\n",
    "const utf8 = new TextDecoder()\n",
    "export const run = (options: Options = {}) => new Runner(options)\n"
  ]) {
    expect(find(source), source).toEqual([])
  }
  expect(findModuleState("store/src/runtime/turns.ts", "let isScheduled = false\n")).toEqual([])
})
