/**
 * `npm run release`, in CI: runs all tests, builds the packages, checks them as npm would publish them, and publishes those
 * whose version is not on npm yet. `npm run release -- --dry-run` runs anywhere, leaves the tests out, and prints what
 * would be published instead.
 *
 * npm trusts the CI job itself (OpenID Connect), so that nobody holds a token, and signs where a package comes from:
 * `publishConfig` of each package asks for it.
 */
import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"

const usage = "Usage: npm run release [-- --dry-run [--allow-changes]]"

class ReleaseError extends Error {}

interface Options {
  readonly isDryRun: boolean
  /** Whether the working tree may have changes that are not committed. */
  readonly allowsChanges: boolean
}

const parseOptions = (parameters: ReadonlyArray<string>): Options => {
  const isDryRun = parameters.includes("--dry-run")
  const allowsChanges = parameters.includes("--allow-changes")
  const known = ["--dry-run", "--allow-changes"]
  if (parameters.some((parameter) => !known.includes(parameter)) || (allowsChanges && !isDryRun)) {
    throw new ReleaseError(usage)
  }
  return { isDryRun, allowsChanges }
}

/** Runs a program whose output the user sees. */
const run = (program: string, parameters: ReadonlyArray<string>, advice = "Nothing was published."): void => {
  const command = [program, ...parameters].join(" ")
  console.log(`\n> ${command}`)
  const { status } = spawnSync(program, parameters, { stdio: "inherit" })
  if (status !== 0) throw new ReleaseError(`"${command}" failed. ${advice}`)
}

/** Set by GitHub Actions for a job with the permission `id-token: write`, and by GitLab for one with `id_tokens`. */
const identityVariables = ["ACTIONS_ID_TOKEN_REQUEST_URL", "NPM_ID_TOKEN"]

const checkIdentity = (): void => {
  if (identityVariables.some((name) => process.env[name])) return
  throw new ReleaseError(
    'CI publishes the packages: see "Release" in CONTRIBUTING.md. To try it here, run npm run release -- --dry-run'
  )
}

const runTests = (): void => {
  run(".ci/run", ["--strict"])
  run("npm", ["run", "test:faults", "--", "--all"])
  run("npm", ["run", "test:nodes"])
}

const checkWorkingTree = (): void => {
  const { status, stdout } = spawnSync("git", ["status", "--porcelain"], { encoding: "utf8" })
  if (status !== 0) throw new ReleaseError("This folder is not a git repository")
  if (stdout !== "") throw new ReleaseError(`Commit these changes first:\n${stdout.trimEnd()}`)
}

/** A changeset is a change that no version contains yet. */
const checkChangesets = (): void => {
  const pending = readdirSync(".changeset").filter((name) => name.endsWith(".md") && name !== "README.md")
  if (pending.length === 0) return
  throw new ReleaseError(`Run npm run version:packages first, for these changesets: ${pending.join(", ")}`)
}

const release = ({ isDryRun, allowsChanges }: Options): void => {
  if (!isDryRun) checkIdentity()
  if (!allowsChanges) checkWorkingTree()
  checkChangesets()
  if (!isDryRun) runTests()
  run("npm", ["run", "build"])
  run("npm", ["run", "check:packages", "--", "--all-readmes"])
  // The tests and the build may have changed files that are committed.
  if (!allowsChanges) checkWorkingTree()
  if (isDryRun) run("changeset", ["publish-plan"])
  else run("changeset", ["publish"], "Run the job again: it publishes the packages that are missing on npm.")
}

const startedAt = performance.now()
try {
  const options = parseOptions(process.argv.slice(2))
  release(options)
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  console.log(
    options.isDryRun
      ? `\nDry run: no tests were run, nothing was published (${seconds} s)`
      : `\nPublished (${seconds} s)`
  )
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
