/**
 * Runs the tests on every supported version of Node, one after the other. It installs Node from the npm registry and
 * caches it below `node_modules`.
 *
 * `npm run test:nodes -- --only-node-facing` runs only the tests that depend on Node itself, and not on the release that
 * `npm test` uses; all other arguments are passed to Vitest.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"

/** The oldest supported release, and the latest release of each later major version. */
const supportedNodes = [
  { major: 22, pick: (releases: ReadonlyArray<string>) => releases.find((release) => getMinor(release) >= 19) },
  { major: 24, pick: (releases: ReadonlyArray<string>) => releases.at(-1) },
  { major: 26, pick: (releases: ReadonlyArray<string>) => releases.at(-1) }
]

/** The bindings, SQLite with its native code, the examples, and of the clients of servers that they connect. */
const nodeFacingTests = [
  ...["node", "express", "fastify", "fetch", "sqlite"].map((name) => `packages/${name}/`),
  ...["postgres", "redis"].map((name) => `packages/${name}/test/opening`),
  "examples/"
]

const folder = resolve("node_modules/.cache/tollgate-nodes")
const nodePackage = `node-linux-${process.arch}`

const getMinor = (release: string): number => Number(release.split(".")[1])

/** The stable releases of a major version, oldest first. */
const listReleases = (major: number): ReadonlyArray<string> => {
  const versions: ReadonlyArray<string> = JSON.parse(
    execFileSync("npm", ["view", nodePackage, "versions", "--json"], { encoding: "utf8" })
  )
  return versions
    .filter((version) => new RegExp(`^${major}\\.\\d+\\.\\d+$`).test(version))
    .sort((left, right) => left.localeCompare(right, "en", { numeric: true }))
}

/** An environment in which `node` is the one in `home`, also in npm scripts, which prepend the repository's own. */
const makeEnvironment = (home: string): NodeJS.ProcessEnv => {
  const PATH = [join(home, "node_modules/.bin"), process.env["PATH"]].join(delimiter)
  return { ...process.env, PATH, npm_config_script_shell: join(home, "sh") }
}

/** The version of Node in `home`, or undefined if `node` resolves to another folder. */
const getInstalledVersion = (home: string): string | undefined => {
  const options = { env: makeEnvironment(home), encoding: "utf8" } as const
  const { stdout } = spawnSync("node", ["--print", "process.execPath + '\\n' + process.version"], options)
  const [path = "", version] = (stdout ?? "").trim().split("\n")
  return path.startsWith(home) ? version : undefined
}

const install = ({ major, pick }: (typeof supportedNodes)[number], home: string): void => {
  const release = pick(listReleases(major))
  if (release === undefined) throw new Error(`${nodePackage} has no supported release of Node ${major}.`)
  console.log(`Installing Node ${release} in ${home}`)
  rmSync(home, { recursive: true, force: true })
  mkdirSync(home, { recursive: true })
  const options = ["--prefix", home, "--no-save", "--no-package-lock", "--no-audit", "--no-fund"]
  execFileSync("npm", ["install", ...options, `${nodePackage}@${release}`], { stdio: ["ignore", "ignore", "inherit"] })
  const shell = `#!/bin/sh\nPATH="${join(home, "node_modules/.bin")}:$PATH" exec /bin/sh "$@"\n`
  writeFileSync(join(home, "sh"), shell, { mode: 0o755 })
}

/** Runs the tests on one version of Node and returns a summary line. */
const runTests = (
  node: (typeof supportedNodes)[number],
  options: ReadonlyArray<string>
): { isPassed: boolean; line: string } => {
  const home = join(folder, String(node.major))
  if (getInstalledVersion(home) === undefined) install(node, home)
  const version = getInstalledVersion(home)
  if (isOnlyNodeFacing && version === process.version) {
    return { isPassed: true, line: `Node ${version}: npm test uses it` }
  }
  if (version?.startsWith(`v${node.major}.`) !== true)
    throw new Error(`Node ${node.major} was not installed in ${home}.`)
  console.log(`\nTesting on Node ${version}`)
  const start = performance.now()
  const vitest = [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--config",
    "vitest.workspace.ts",
    "--project",
    "!stores-*",
    "--project",
    "!docs"
  ]
  const { status } = spawnSync("node", [...vitest, ...options], { env: makeEnvironment(home), stdio: "inherit" })
  const seconds = Math.round((performance.now() - start) / 1000)
  return { isPassed: status === 0, line: `Node ${version}: ${status === 0 ? "passed" : "FAILED"} in ${seconds} s` }
}

const nodeFacingFlag = "--only-node-facing"
const args = process.argv.slice(2)
const isOnlyNodeFacing = args.includes(nodeFacingFlag)
const options = args.filter((option) => option !== nodeFacingFlag)
if (isOnlyNodeFacing) options.push(...nodeFacingTests)

if (process.platform !== "linux" || !["x64", "arm64"].includes(process.arch)) {
  console.error(
    "test:nodes supports only Linux x64 and arm64. On other systems, run `npm test` on Node 22.19, 24 and 26."
  )
  process.exitCode = 1
} else {
  const results = supportedNodes.map((node) => runTests(node, options))
  console.log(`\n${results.map(({ line }) => line).join("\n")}`)
  process.exitCode = results.every(({ isPassed }) => isPassed) ? 0 : 1
}
