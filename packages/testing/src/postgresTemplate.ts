/**
 * Creates data folders of PostgreSQL. `initdb` takes two seconds, so its result is kept and copied.
 */
import { execFile, execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { chownSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { PostgresInstallation } from "./postgresBinary.ts"

const run = promisify(execFile)

/** Tools that clean up temporary folders could delete parts of a template there. */
const cacheFolder = join(import.meta.dirname, "../../../node_modules/.cache")

/** The user that runs PostgreSQL, which refuses to run as root. */
export interface ServerUser {
  readonly uid?: number
  readonly gid?: number
}

const readId = (flag: "-u" | "-g"): number => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }))

export const getServerUser = (): ServerUser =>
  process.getuid?.() === 0 ? { uid: readId("-u"), gid: readId("-g") } : {}

/** Makes a folder accessible to the user that runs PostgreSQL. */
export const giveFolder = (folder: string, { uid, gid }: ServerUser): void => {
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
}

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
