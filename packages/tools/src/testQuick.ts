/**
 * Runs the tests of the packages that a change touches, those files that import what has changed, on the store in memory.
 * The change is what is not committed; `npm run test:quick -- --since main` takes all since a commit.
 */
import { execFileSync, spawnSync } from "node:child_process"

const [flag, commit = "HEAD"] = process.argv.slice(2)
if (flag !== undefined && flag !== "--since")
  throw new Error(`Unknown option ${flag}. Use: npm run test:quick -- --since <commit>`)

const git = (...args: ReadonlyArray<string>): ReadonlyArray<string> =>
  execFileSync("git", args, { encoding: "utf8" })
    .split("\n")
    .filter((line) => line !== "")

const files = [...git("diff", "--name-only", commit), ...git("ls-files", "--others", "--exclude-standard")]

/** The project of Vitest that a file belongs to. Fault tests have a command of their own. */
const getProject = (file: string): ReadonlyArray<string> => {
  const [, folder, name] = /^(packages|examples)\/([^/]+)\//.exec(file) ?? []
  if (name === undefined || name === "faults") return []
  return [folder === "examples" ? `example-${name}` : name]
}

const projects = [...new Set(files.flatMap(getProject))]
if (projects.length === 0) {
  console.log(`No package has changed since ${commit}.`)
} else {
  const options = projects.flatMap((name) => ["--project", name])
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "vitest.workspace.ts", "--passWithNoTests"]
  const { status } = spawnSync(process.execPath, [...vitest, "--changed", commit, ...options], {
    env: { ...process.env, TEST_STORES: "memory" },
    stdio: "inherit"
  })
  process.exitCode = status ?? 1
}
