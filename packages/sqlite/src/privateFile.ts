/**
 * Creates files that only their owner can read, because a store contains hashed and encrypted API keys.
 */
import { closeSync, openSync, readlinkSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { getErrorCode } from "./classifyError.ts"

/** SQLite creates the -wal and -shm files of a database with the mode of the database. */
export const privateMode = 0o600

/**
 * Creates an empty file if the path does not exist. An existing file keeps its mode and is not opened: closing it would
 * release the POSIX locks that SQLite holds on it in this process.
 */
export const createPrivateFile = (path: string): void => {
  try {
    closeSync(openSync(path, "wx", privateMode))
  } catch (error) {
    if (getErrorCode(error) !== "EEXIST") throw error
    const isDanglingLink = statSync(path, { throwIfNoEntry: false }) === undefined
    if (isDanglingLink) createPrivateFile(resolve(dirname(path), readlinkSync(path)))
  }
}
