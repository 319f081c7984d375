/**
 * Finds valkey-server on the PATH, or takes it from Debian's packages, without installing them: Valkey is in
 * Debian since version 13, and in the backports of version 12.
 */
import { execFileSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { findOnPath } from "./programs.ts"

const cacheFolder = join(import.meta.dirname, "../../../node_modules/.cache")
const target = join(cacheFolder, `tollgate-valkey-${process.arch}`)
const program = join(target, "usr/bin/valkey-server")

const run = (command: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

/** The package sources of the machine, with their backports, for a list of packages in this folder. */
const addBackports = (folder: string): ReadonlyArray<string> => {
  const [, codename = ""] = /^VERSION_CODENAME=(\S+)/m.exec(readFileSync("/etc/os-release", "utf8")) ?? []
  const targets = run("apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages")
  const [, uri = ""] = new RegExp(`^${codename} (\\S+)$`, "m").exec(targets) ?? []
  const suites = [codename, `${codename}-backports`]
  const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
  writeFileSync(
    join(folder, "sources.list"),
    suites.map((suite) => `deb [signed-by=${keyring}] ${uri} ${suite} main\n`).join("")
  )
  for (const name of ["lists/partial", "archives/partial"]) mkdirSync(join(folder, name), { recursive: true })
  return [
    `Dir::Etc::sourcelist=${join(folder, "sources.list")}`,
    "Dir::Etc::sourceparts=-",
    `Dir::State::lists=${join(folder, "lists")}`,
    `Dir::Cache=${folder}`
  ].flatMap((option) => ["-o", option])
}

const download = (): void => {
  mkdirSync(cacheFolder, { recursive: true })
  const folder = mkdtempSync(join(cacheFolder, "tollgate-valkey-"))
  try {
    const options = addBackports(folder)
    run("apt-get", ...options, "update")
    execFileSync("apt-get", [...options, "download", "valkey-server", "valkey-tools"], { cwd: folder, stdio: "ignore" })
    for (const archive of readdirSync(folder).filter((name) => name.endsWith(".deb"))) {
      run("dpkg", "-x", join(folder, archive), join(folder, "unpacked"))
    }
    renameSync(join(folder, "unpacked"), target)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the path of valkey-server and downloads it if necessary, or throws with instructions. */
export const ensureValkey = (): string => {
  const installed = findOnPath("valkey-server")
  if (installed !== undefined) return installed
  let cause: unknown
  if (!existsSync(program) && findOnPath("apt-get") !== undefined) {
    try {
      download()
    } catch (error) {
      cause = error
    }
  }
  if (existsSync(program)) return program
  throw new Error("This test needs Valkey 8 or later: add valkey-server to the PATH (macOS: brew install valkey)", {
    cause
  })
}
