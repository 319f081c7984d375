/**
 * Completes package-lock.json: npm leaves out the packages of other platforms that its registry does not have, and then
 * `npm ci` fails and `npm install` changes the file. `npm run complete:lock` adds them, with the platform in their names.
 */
import { readFileSync, writeFileSync } from "node:fs"

interface LockedPackage {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly os?: ReadonlyArray<string>
  readonly cpu?: ReadonlyArray<string>
  readonly libc?: ReadonlyArray<string>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

export const readLockFile = (path = "package-lock.json"): LockFile => JSON.parse(readFileSync(path, "utf8"))

/** The paths where Node looks for a package that the one at `path` imports, the nearest first. */
const listLookups = (path: string, name: string): ReadonlyArray<string> => {
  const end = path.lastIndexOf("/node_modules/")
  const here = `${path === "" ? "" : `${path}/`}node_modules/${name}`
  return path === "" ? [here] : [here, ...listLookups(end === -1 ? "" : path.slice(0, end), name)]
}

export interface MissingPackage {
  readonly name: string
  readonly version: string
  readonly isDev: boolean
}

/** The optional dependencies of locked packages that the lock file does not have. */
export const findMissing = ({ packages }: LockFile): ReadonlyArray<MissingPackage> =>
  Object.entries(packages).flatMap(([path, { optionalDependencies = {}, dev = false }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !listLookups(path, name).some((lookup) => lookup in packages))
      .map(([name, version]) => ({ name, version, isDev: dev }))
  )

const platform =
  /-(android|darwin|freebsd|linux|openbsd|openharmony|win32)-(arm64|arm|ia32|loong64|ppc64|riscv64|s390x|x64)(?:-(gnu|musl)?\w*)?$/

/** What `npm install` would write, apart from the checksum. */
const toLockedPackage = ({ name, version, isDev }: MissingPackage): LockedPackage => {
  const [, os, cpu, libc] = platform.exec(name) ?? []
  if (os === undefined || cpu === undefined || !/^\d+\.\d+\.\d+/.test(version)) {
    throw new Error(`The platform or the version of ${name}@${version} is not known. Add it to package-lock.json.`)
  }
  return {
    version,
    cpu: [cpu],
    ...(isDev ? { dev: true } : {}),
    ...(os === "linux" && libc !== undefined ? { libc: [libc === "gnu" ? "glibc" : "musl"] } : {}),
    optional: true,
    os: [os]
  }
}

export const completeLockFile = (lockFile: LockFile): LockFile => {
  const added = findMissing(lockFile).map(
    (missing) => [`node_modules/${missing.name}`, toLockedPackage(missing)] as const
  )
  const entries = [...Object.entries(lockFile.packages), ...added]
  return {
    ...lockFile,
    packages: Object.fromEntries(entries.sort(([left], [right]) => left.localeCompare(right, "en")))
  }
}

if (import.meta.main)
  writeFileSync("package-lock.json", `${JSON.stringify(completeLockFile(readLockFile()), null, 2)}\n`)
