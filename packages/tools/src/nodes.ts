/**
 * The supported versions of Node, installed side by side below `node_modules` from the npm registry.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"

/** The oldest supported release, and the latest release of each later major version. */
export const supportedNodes = [
  { major: 22, pick: (releases: ReadonlyArray<string>) => releases.find((release) => getMinor(release) >= 19) },
  { major: 24, pick: (releases: ReadonlyArray<string>) => releases.at(-1) },
  { major: 26, pick: (releases: ReadonlyArray<string>) => releases.at(-1) }
]

export type SupportedNode = (typeof supportedNodes)[number]

export const canInstallNodes = process.platform === "linux" && ["x64", "arm64"].includes(process.arch)

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

const install = ({ major, pick }: SupportedNode, home: string): void => {
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

/** Installs a version of Node unless it is there, and returns it with an environment in which `node` is this one. */
export const ensureNode = (node: SupportedNode): { readonly version: string; readonly env: NodeJS.ProcessEnv } => {
  const home = join(folder, String(node.major))
  if (getInstalledVersion(home) === undefined) install(node, home)
  const version = getInstalledVersion(home)
  if (version?.startsWith(`v${node.major}.`) !== true)
    throw new Error(`Node ${node.major} was not installed in ${home}.`)
  return { version, env: makeEnvironment(home) }
}
