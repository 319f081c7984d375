/**
 * Looks at every package as npm would publish it: are its exports there, and do its types resolve for those who
 * import it?
 */
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"

const published = readdirSync("packages").filter(
  (name) => JSON.parse(readFileSync(`packages/${name}/package.json`, "utf8")).private !== true
)

const checks: ReadonlyArray<readonly [program: string, ...options: ReadonlyArray<string>]> = [
  ["publint", "--strict"],
  ["attw", "--pack", "--profile", "esm-only", "--format", "ascii", "--quiet"]
]

let failed = false
for (const name of published) {
  for (const [program, ...options] of checks) {
    const { status, stdout, stderr } = spawnSync(program, [...options, `packages/${name}`], { encoding: "utf8" })
    console.log(`${status === 0 ? "clean " : "FAILED"} ${program} @tollgate/${name}`)
    if (status === 0) continue
    failed = true
    console.error(stdout, stderr)
  }
}
process.exitCode = failed ? 1 : 0
