/**
 * The user that runs PostgreSQL, which refuses to run as root: `postgres`, which Debian's package creates, or `nobody`.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { chownSync, cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { PostgresInstallation } from "./postgresBinary.ts"

/** Empty for tests that do not run as root: servers then have the user of the tests. */
export interface ServerUser {
  readonly uid?: number
  readonly gid?: number
}

const readIds = (name: string): ServerUser | undefined => {
  const read = (flag: "-u" | "-g") => spawnSync("id", [flag, name], { encoding: "utf8" })
  const [user, group] = [read("-u"), read("-g")]
  return user.status === 0 && group.status === 0 ? { uid: Number(user.stdout), gid: Number(group.stdout) } : undefined
}

const findServerUser = (): ServerUser => {
  if (process.getuid?.() !== 0) return {}
  const user = readIds("postgres") ?? readIds("nobody")
  if (user === undefined)
    throw new Error("PostgreSQL refuses to run as root: create the user postgres (useradd postgres)")
  return user
}

let serverUser: ServerUser | undefined

export const getServerUser = (): ServerUser => {
  serverUser ??= findServerUser()
  return serverUser
}

/** Makes a folder accessible to the user that runs PostgreSQL. */
export const giveFolder = (folder: string, { uid, gid }: ServerUser): void => {
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
}

const copies = new Map<string, PostgresInstallation>()

/** Copies the programs if the user cannot read them where they are, as in a home folder of root. */
export const makeReadable = (installation: PostgresInstallation, user: ServerUser): PostgresInstallation => {
  const copied = copies.get(installation.folder)
  if (copied !== undefined) return copied
  const { error } = spawnSync(join(installation.folder, "postgres"), ["--version"], { ...user, cwd: "/" })
  if (error === undefined) return installation
  const folder = mkdtempSync(join(tmpdir(), "tollgate-postgres-"))
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  cpSync(join(installation.folder, ".."), folder, { recursive: true, verbatimSymlinks: true })
  execFileSync("chmod", ["-R", "a+rX", folder])
  const copy = { ...installation, folder: join(folder, "bin") }
  copies.set(installation.folder, copy)
  return copy
}
