import { randomUUID } from "node:crypto"
import { chmodSync, lstatSync, opendirSync, renameSync, rmdirSync, unlinkSync } from "node:fs"
import { join } from "node:path"

/** Another process may remove the same folder at the same time. */
const unlessMissing = (work: () => void): void => {
  try {
    work()
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error
  }
}

/** Calls `visit` for every name in a folder, also one that its maker has locked; gives how many there were. */
const forEachName = (folder: string, visit: (path: string, isFolder: boolean) => void): number => {
  chmodSync(folder, 0o700)
  const directory = opendirSync(folder)
  let count = 0
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      const [path, isFolder] = [join(folder, entry.name), entry.isDirectory()]
      unlessMissing(() => visit(path, isFolder))
      count++
    }
  } finally {
    directory.closeSync()
  }
  return count
}

/** How deep folders are emptied where they are. */
const maxDepth = 40

/**
 * Removes a file, or a folder with all that is in it. What is very deep is moved up to the top first, so that it is
 * removed without deep recursion and without a path that is too long. Synchronous: it runs in a worker thread.
 */
export const removeFolder = (top: string): void => {
  const empty = (folder: string, depth: number): number =>
    forEachName(folder, (path, isFolder) => {
      if (!isFolder) return unlinkSync(path)
      if (depth === maxDepth) {
        chmodSync(path, 0o700)
        return renameSync(path, join(top, randomUUID()))
      }
      empty(path, depth + 1)
      rmdirSync(path)
    })
  unlessMissing(() => {
    if (!lstatSync(top).isDirectory()) return unlinkSync(top)
    while (empty(top, 0) > 0);
    rmdirSync(top)
  })
}
