/**
 * Installs the supported versions of PostgreSQL before the newest from npm. They are large, so they are in a folder with a
 * lock file of its own.
 */
import { execFileSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { listPostgres, type PostgresInstallation } from "./postgresBinary.ts"

const folder = join(import.meta.dirname, "../../../test-external/postgres")

/** One installation for each version, the newest first. */
export const installPostgresVersions = (): ReadonlyArray<PostgresInstallation> => {
  execFileSync("npm", ["install", "--no-audit", "--no-fund"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] })
  const modules = join(folder, "node_modules")
  const installations = listPostgres(
    readdirSync(modules)
      .filter((name) => name.startsWith("postgres"))
      .map((name) => join(modules, name, "native/bin"))
  )
  if (installations.length === 0) {
    throw new Error(`npm has no PostgreSQL for ${process.platform}-${process.arch}: run this test on Linux or on a Mac`)
  }
  return installations
}
