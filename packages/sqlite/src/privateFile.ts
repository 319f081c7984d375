/**
 * Files that only their owner may read: a store holds hashed and sealed keys.
 */
import { closeSync, openSync, readlinkSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { getErrorCode } from "./classifyError.ts"

/** Readable and writable by the owner alone. SQLite gives the -wal and -shm beside a database the same mode. */
export const privateMode = 0o600

/**
 * Creates an empty file unless there is one, which keeps its mode. A file that exists is never opened here: closing it
 * would release the locks that SQLite holds on it in this process.
 */
export const createPrivateFile = (path: string): void => {
  try {
    closeSync(openSync(path, "wx", privateMode))
  } catch (error) {
    if (getErrorCode(error) !== "EEXIST") throw error
    const leadsNowhere = statSync(path, { throwIfNoEntry: false }) === undefined
    if (leadsNowhere) createPrivateFile(resolve(dirname(path), readlinkSync(path)))
  }
}
