/**
 * Checks every package as npm would publish it: its exports exist, its types resolve, and the built packages can deploy
 * a site.
 */
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"

const publishedPackages = readdirSync("packages").filter(
  (name) => JSON.parse(readFileSync(`packages/${name}/package.json`, "utf8")).private !== true
)

const checks: ReadonlyArray<readonly [program: string, ...options: ReadonlyArray<string>]> = [
  ["publint", "--strict"],
  ["attw", "--pack", "--profile", "esm-only", "--format", "ascii", "--quiet"]
]

let hasFailed = false
const run = (label: string, program: string, options: ReadonlyArray<string>): void => {
  const { status, stdout, stderr } = spawnSync(program, options, { encoding: "utf8" })
  console.log(`${status === 0 ? "passed" : "FAILED"} ${label}`)
  if (status === 0) return
  hasFailed = true
  console.error(stdout, stderr)
}

for (const name of publishedPackages) {
  for (const [program, ...options] of checks) {
    run(`${program} @tollgate/${name}`, program, [...options, `packages/${name}`])
  }
}
run("deployment with the built packages", process.execPath, ["packages/tools/src/tryBuiltSites.ts"])
process.exitCode = hasFailed ? 1 : 0
