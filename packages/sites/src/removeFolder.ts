import { randomUUID } from "node:crypto"
import { chmodSync, lstatSync, opendirSync, renameSync, rmdirSync, unlinkSync } from "node:fs"
import { join } from "node:path"

/** Ignores ENOENT, since another process may remove the same folder concurrently. */
const ignoreMissing = (work: () => void): void => {
  try {
    work()
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error
  }
}

/** Calls `visit` for each entry of a folder, even if its permissions forbid it. Returns the number of entries. */
const forEachEntry = (folder: string, visit: (path: string, isFolder: boolean) => void): number => {
  chmodSync(folder, 0o700)
  const directory = opendirSync(folder)
  let count = 0
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      const [path, isFolder] = [join(folder, entry.name), entry.isDirectory()]
      ignoreMissing(() => visit(path, isFolder))
      count++
    }
  } finally {
    directory.closeSync()
  }
  return count
}

/** Folders below this depth are moved up before they are emptied. */
const maxDepth = 40

/**
 * Removes a file, or a folder with its contents. Moves deeply nested folders to the top first, to avoid deep recursion
 * and paths that are too long. Synchronous, since it runs in a worker thread.
 */
export const removeFolder = (top: string): void => {
  const empty = (folder: string, depth: number): number =>
    forEachEntry(folder, (path, isFolder) => {
      if (!isFolder) return unlinkSync(path)
      if (depth === maxDepth) {
        chmodSync(path, 0o700)
        return renameSync(path, join(top, randomUUID()))
      }
      empty(path, depth + 1)
      rmdirSync(path)
    })
  ignoreMissing(() => {
    if (!lstatSync(top).isDirectory()) return unlinkSync(top)
    while (empty(top, 0) > 0);
    rmdirSync(top)
  })
}
