/**
 * Creates data folders of PostgreSQL. `initdb` takes two seconds, so its result is kept and copied.
 */
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { PostgresInstallation } from "./postgresBinary.ts"
import { giveFolder, type ServerUser } from "./postgresUser.ts"

const run = promisify(execFile)

/** Tools that clean up temporary folders could delete parts of a template there. */
const cacheFolder = join(import.meta.dirname, "../../../node_modules/.cache")

const createTemplate = async (installation: PostgresInstallation, user: ServerUser, path: string): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-initdb-"))
  const unfinished = `${path}-${randomUUID()}`
  try {
    giveFolder(folder, user)
    const data = join(folder, "data")
    await run(
      join(installation.folder, "initdb"),
      ["-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "--locale=C.UTF-8", "--encoding=UTF8"],
      { ...user, cwd: folder }
    )
    mkdirSync(cacheFolder, { recursive: true })
    await run("cp", ["-a", data, unfinished])
    renameSync(unfinished, path)
  } catch (error) {
    // Another process has created the same template in the meantime.
    if (!existsSync(path)) throw error
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Creates an initialized data folder at this path. */
export const createDataFolder = async (
  installation: PostgresInstallation,
  user: ServerUser,
  path: string
): Promise<void> => {
  const owner = user.uid ?? process.getuid?.() ?? 0
  const template = join(cacheFolder, `tollgate-postgres-${installation.version}-${process.arch}-${owner}`)
  if (!existsSync(template)) await createTemplate(installation, user, template)
  await run("cp", ["-a", template, path])
}
