/**
 * Reads every file that a release will serve, and makes its manifest. Synchronous: it runs in a worker thread.
 */
import { createHash } from "node:crypto"
import { closeSync, constants, opendirSync, openSync, readSync, realpathSync, statSync } from "node:fs"
import { join } from "node:path"
import { Budget } from "./Budget.ts"
import { InvalidArchiveError, type UnpackLimits } from "./limits.ts"
import { encodeManifest, type ServedFile } from "./manifest.ts"

/** Files whose name begins with a dot are the author's own, except those that the web has agreed on. */
const isHidden = (name: string): boolean => name.startsWith(".") && name !== ".well-known"

/** The folder to serve, if it is really where it seems to be: a build may have replaced it by a link. */
const findServedFolder = (folder: string, root: string): string => {
  const served = realpathOf(join(folder, root))
  if (served === undefined || !statSync(served).isDirectory())
    throw new InvalidArchiveError("there is no folder to serve")
  if (served !== join(realpathSync(folder), root)) throw new InvalidArchiveError("the folder to serve is a link")
  return served
}

const realpathOf = (path: string): string | undefined => {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** Every file below the folder; links and devices are passed over. A build may have made more than a source may have. */
const listFiles = (folder: string, limits: UnpackLimits): ReadonlyArray<string> => {
  const budget = new Budget(limits)
  const files: Array<string> = []
  const folders = [""]
  for (let below = folders.pop(); below !== undefined; below = folders.pop()) {
    const directory = opendirSync(join(folder, below))
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        if (isHidden(entry.name) || !(entry.isDirectory() || entry.isFile())) continue
        const path = below === "" ? entry.name : `${below}/${entry.name}`
        budget.addEntry(path)
        budget.addBytes(entry.isFile() ? statSync(join(folder, path)).size : 0, path)
        if (entry.isDirectory()) budget.checkDepth(path.split("/").length, path)
        ;(entry.isDirectory() ? folders : files).push(path)
      }
    } finally {
      directory.closeSync()
    }
  }
  return files
}

const readFile = (path: string, buffer: Buffer): ServedFile => {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const hash = createHash("sha256")
    let size = 0
    for (let read = readSync(file, buffer); read > 0; read = readSync(file, buffer)) {
      size += read
      hash.update(buffer.subarray(0, read))
    }
    return { size, digest: hash.digest("base64url") }
  } finally {
    closeSync(file)
  }
}

export const describeRelease = (folder: string, root: string, limits: UnpackLimits): Buffer => {
  const served = findServedFolder(folder, root)
  const buffer = Buffer.alloc(64 * 1024)
  const paths = listFiles(served, limits)
  return encodeManifest(
    root,
    paths.map((path) => [path, readFile(join(served, path), buffer)])
  )
}
