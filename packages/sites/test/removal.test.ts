import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { defaultLimits } from "../src/limits.ts"
import { ReleaseWorkers } from "../src/ReleaseWorkers.ts"

let parent: string
let folder: string
const workers = new ReleaseWorkers(defaultLimits)
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "tollgate-"))
  folder = join(parent, "release")
  mkdirSync(folder)
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

describe("removing a release", () => {
  it("does not block the event loop with 20,000 files", { retry: 2 }, async () => {
    for (let index = 0; index < 20_000; index++) writeFileSync(join(folder, `${index}`), "")
    const delay = monitorEventLoopDelay({ resolution: 10 })
    delay.enable()
    const startedAt = performance.now()
    await workers.remove(folder)
    const elapsed = performance.now() - startedAt
    delay.disable()
    expect(existsSync(folder)).toBe(false)
    expect(delay.max / 1e6).toBeLessThan(elapsed / 2)
  })

  it("removes folders nested deeper than the maximum path length", async () => {
    mkdirSync(join(folder, "a"))
    writeFileSync(join(folder, "a", "file"), "")
    for (let depth = 0; depth < 2_500; depth++) {
      mkdirSync(join(folder, "b"))
      renameSync(join(folder, "a"), join(folder, "b", "a"))
      renameSync(join(folder, "b"), join(folder, "a"))
    }
    await workers.remove(folder)
    expect(existsSync(folder)).toBe(false)
  })

  it("does not follow symbolic links", async () => {
    const outside = join(parent, "outside")
    mkdirSync(outside)
    writeFileSync(join(outside, "file"), "kept")
    symlinkSync(outside, join(folder, "link"))
    symlinkSync("link", join(folder, "link-to-link"))
    await workers.remove(folder)
    expect(existsSync(folder)).toBe(false)
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("kept")
  })

  it("can run concurrently and be repeated", async () => {
    for (let index = 0; index < 1_000; index++) {
      mkdirSync(join(folder, `${index % 50}/${index}`), { recursive: true })
      writeFileSync(join(folder, `${index % 50}/${index}/file`), "")
    }
    await Promise.all([workers.remove(folder), workers.remove(folder), workers.remove(folder)])
    await workers.remove(folder)
    expect(existsSync(folder)).toBe(false)
  })
})
