/**
 * Runs the tests on every supported Node, one after the other. The Nodes are packages of the npm registry; they are kept
 * below `node_modules` and used again by the next run.
 *
 * `npm run test:nodes -- --only-node-facing` runs only the projects that depend on Node itself; all other arguments are
 * passed to Vitest.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"

/** The oldest supported release, and the newest of each later line. */
const supported = [
  { major: 22, pick: (releases: ReadonlyArray<string>) => releases.find((release) => minorOf(release) >= 19) },
  { major: 24, pick: (releases: ReadonlyArray<string>) => releases.at(-1) },
  { major: 26, pick: (releases: ReadonlyArray<string>) => releases.at(-1) }
]

const nodeFacing = [
  ...["node", "express", "koa", "memory", "sqlite", "redis"],
  ...["express-sqlite", "fetch-memory", "koa-redis"]
]

const folder = resolve("node_modules/.cache/tollgate-nodes")
const nodePackage = `node-linux-${process.arch}`

const minorOf = (release: string): number => Number(release.split(".")[1])

/** The stable releases of a line, oldest first. */
const listReleases = (major: number): ReadonlyArray<string> => {
  const versions: ReadonlyArray<string> = JSON.parse(
    execFileSync("npm", ["view", nodePackage, "versions", "--json"], { encoding: "utf8" })
  )
  return versions
    .filter((version) => new RegExp(`^${major}\\.\\d+\\.\\d+$`).test(version))
    .sort((one, other) => one.localeCompare(other, "en", { numeric: true }))
}

/** An environment in which `node` is that of a folder, also in npm scripts, which put the repository's own first. */
const environmentFor = (home: string): NodeJS.ProcessEnv => {
  const PATH = [join(home, "node_modules/.bin"), process.env["PATH"]].join(delimiter)
  return { ...process.env, PATH, npm_config_script_shell: join(home, "sh") }
}

/** The version of the Node that a folder holds; none if `node` is found elsewhere on the path. */
const versionIn = (home: string): string | undefined => {
  const options = { env: environmentFor(home), encoding: "utf8" } as const
  const { stdout } = spawnSync("node", ["--print", "process.execPath + '\\n' + process.version"], options)
  const [path = "", version] = (stdout ?? "").trim().split("\n")
  return path.startsWith(home) ? version : undefined
}

const install = ({ major, pick }: (typeof supported)[number], home: string): void => {
  const release = pick(listReleases(major))
  if (release === undefined) throw new Error(`${nodePackage} has no release of Node ${major} that is supported.`)
  console.log(`Installing Node ${release} in ${home}`)
  rmSync(home, { recursive: true, force: true })
  mkdirSync(home, { recursive: true })
  const options = ["--prefix", home, "--no-save", "--no-package-lock", "--no-audit", "--no-fund"]
  execFileSync("npm", ["install", ...options, `${nodePackage}@${release}`], { stdio: ["ignore", "ignore", "inherit"] })
  const shell = `#!/bin/sh\nPATH="${join(home, "node_modules/.bin")}:$PATH" exec /bin/sh "$@"\n`
  writeFileSync(join(home, "sh"), shell, { mode: 0o755 })
}

/** Runs the tests on one Node, and says in a line how that went. */
const test = (node: (typeof supported)[number], options: ReadonlyArray<string>): { passed: boolean; line: string } => {
  const home = join(folder, String(node.major))
  if (versionIn(home) === undefined) install(node, home)
  const version = versionIn(home)
  if (version?.startsWith(`v${node.major}.`) !== true) throw new Error(`There is no Node ${node.major} in ${home}.`)
  console.log(`\nTesting on Node ${version}`)
  const start = performance.now()
  const run = ["node_modules/vitest/vitest.mjs", "run", "--config", "vitest.workspace.ts"]
  const { status } = spawnSync("node", [...run, ...options], { env: environmentFor(home), stdio: "inherit" })
  const seconds = Math.round((performance.now() - start) / 1000)
  return { passed: status === 0, line: `Node ${version}: ${status === 0 ? "passed" : "FAILED"} in ${seconds} s` }
}

const only = "--only-node-facing"
const given = process.argv.slice(2)
const options = given.filter((option) => option !== only)
// These projects mostly wait for servers and child processes: every core may take a file.
if (given.includes(only)) options.push("--maxWorkers=100%", ...nodeFacing.flatMap((name) => ["--project", name]))

if (process.platform !== "linux" || !["x64", "arm64"].includes(process.arch)) {
  console.error("test:nodes runs on Linux x64 and arm64; elsewhere, run `npm test` on Node 22.19, 24 and 26 yourself.")
  process.exitCode = 1
} else {
  const results = supported.map((node) => test(node, options))
  console.log(`\n${results.map(({ line }) => line).join("\n")}`)
  process.exitCode = results.every(({ passed }) => passed) ? 0 : 1
}
