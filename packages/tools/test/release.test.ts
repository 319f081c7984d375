import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeEach, expect, it } from "@effect/vitest"

const program = join(import.meta.dirname, "../src/release.ts")
const folder = mkdtempSync(join(tmpdir(), "tollgate-release-"))
const repository = join(folder, "repository")
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const git = (...parameters: ReadonlyArray<string>) => {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
  expect(spawnSync("git", [...identity, ...parameters], { cwd: repository }).status).toBe(0)
}

beforeEach(() => {
  rmSync(repository, { recursive: true, force: true })
  mkdirSync(join(repository, ".changeset"), { recursive: true })
  writeFileSync(join(repository, ".changeset/README.md"), "")
  // A build that fails, so that no test goes further.
  writeFileSync(join(repository, "package.json"), JSON.stringify({ scripts: { build: "exit 1" } }))
  git("init", "--quiet")
  git("add", ".")
  git("commit", "--quiet", "--message", "First")
})

const runRelease = (...parameters: ReadonlyArray<string>) => {
  const env = { PATH: process.env["PATH"], HOME: folder }
  const { status, stderr } = spawnSync(process.execPath, [program, ...parameters], {
    cwd: repository,
    env,
    encoding: "utf8"
  })
  expect(status).toBe(1)
  return stderr.trimEnd()
}

it("says that you are not logged in to npm, before it does anything else", () => {
  writeFileSync(join(repository, "draft.txt"), "")
  expect(runRelease()).toBe("You are not logged in to npm. Run npm login, then npm run release again.")
})

it("refuses changes that are not committed, unless a dry run allows them", () => {
  writeFileSync(join(repository, "draft.txt"), "")
  expect(runRelease("--dry-run")).toBe("Commit these changes first:\n?? draft.txt")
  expect(runRelease("--dry-run", "--allow-changes")).toMatch(/"npm run build" failed. Nothing was published.$/)
})

it("refuses changesets that are not in a version", () => {
  writeFileSync(join(repository, ".changeset/brave-dogs.md"), "")
  expect(runRelease("--dry-run", "--allow-changes")).toBe(
    "Run npm run version:packages first, for these changesets: brave-dogs.md"
  )
})

it.for([["--dryrun"], ["--allow-changes"]])("refuses %s", (parameters) => {
  expect(runRelease(...parameters)).toBe("Usage: npm run release [-- --dry-run [--allow-changes]]")
})
