import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
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

/** Notes a step instead of doing it, and fails if the variable `FAILS` names it. */
const note = (step: string) => `echo "${step}" >> ../steps.txt; test "$FAILS" != "${step}"`
const programs = {
  ".ci/run": `#!/bin/sh\n${note(".ci/run")}`,
  "node_modules/.bin/changeset": `#!/bin/sh\n${note("changeset $1")}`
}
const scripts = {
  "test:faults": `f() { ${note("test:faults $1")}; }; f`,
  "test:nodes": note("test:nodes"),
  build: note("build"),
  "check:packages": `f() { ${note("check:packages $1")}; }; f`
}

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(repository, ".changeset"), { recursive: true })
  writeFileSync(join(repository, ".changeset/README.md"), "")
  writeFileSync(join(repository, "package.json"), JSON.stringify({ scripts }))
  for (const [path, program] of Object.entries(programs)) {
    mkdirSync(join(repository, path, ".."), { recursive: true })
    writeFileSync(join(repository, path), program, { mode: 0o755 })
  }
  git("init", "--quiet")
  git("add", ".")
  git("commit", "--quiet", "--message", "First")
})

const readSteps = () => {
  const path = join(folder, "steps.txt")
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : []
}

const runRelease = (parameters: ReadonlyArray<string>, variables: Readonly<Record<string, string>> = {}) => {
  const path = `${join(repository, "node_modules/.bin")}:${process.env["PATH"]}`
  const { status, stderr } = spawnSync(process.execPath, [program, ...parameters], {
    cwd: repository,
    env: { PATH: path, HOME: folder, ...variables },
    encoding: "utf8"
  })
  return { status, error: stderr.trimEnd(), steps: readSteps() }
}

/** What GitLab sets in a job that npm trusts. */
const inCi = { NPM_ID_TOKEN: "a-token" }
const steps = [
  ".ci/run",
  "test:faults --all",
  "test:nodes",
  "build",
  "check:packages --all-readmes",
  "changeset publish"
]

it("publishes in CI only, and says so before it does anything else", () => {
  writeFileSync(join(repository, "draft.txt"), "")
  expect(runRelease([], { CI: "true" })).toEqual({
    status: 1,
    error:
      'CI publishes the packages: see "Release" in CONTRIBUTING.md. To try it here, run npm run release -- --dry-run',
    steps: []
  })
})

it("publishes after all tests and checks", () => {
  expect(runRelease([], inCi)).toMatchObject({ status: 0, steps })
})

it.for([...steps.slice(0, -1).entries()])("publishes nothing if step %s fails", ([index, step]) => {
  const release = runRelease([], { ...inCi, FAILS: step })
  expect(release).toMatchObject({ status: 1, steps: steps.slice(0, index + 1) })
  expect(release.error).toMatch(/failed\. Nothing was published\.$/)
})

it("only plans what it would publish, and runs no tests, in a dry run", () => {
  const dryRunSteps = ["build", "check:packages --all-readmes", "changeset publish-plan"]
  expect(runRelease(["--dry-run"])).toMatchObject({ status: 0, steps: dryRunSteps })
})

it("refuses changes that are not committed, unless a dry run allows them", () => {
  writeFileSync(join(repository, "draft.txt"), "")
  expect(runRelease(["--dry-run"]).error).toBe("Commit these changes first:\n?? draft.txt")
  expect(runRelease(["--dry-run", "--allow-changes"]).status).toBe(0)
})

it("refuses changesets that are not in a version", () => {
  writeFileSync(join(repository, ".changeset/brave-dogs.md"), "")
  expect(runRelease(["--dry-run", "--allow-changes"]).error).toBe(
    "Run npm run version:packages first, for these changesets: brave-dogs.md"
  )
})

it.for([["--dryrun"], ["--allow-changes"]])("refuses %s", (parameters) => {
  expect(runRelease(parameters).error).toBe("Usage: npm run release [-- --dry-run [--allow-changes]]")
})
