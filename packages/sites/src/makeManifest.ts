/**
 * Reads all files that a release will serve, stores them by digest, and makes the manifest. Synchronous, since it runs in a
 * worker thread.
 */
import { createHash } from "node:crypto"
import { closeSync, constants, opendirSync, openSync, readSync, realpathSync, statSync } from "node:fs"
import { join } from "node:path"
import { Budget } from "./Budget.ts"
import { ReleaseRejectedError, type UnpackLimits } from "./limits.ts"
import { encodeManifest, type ServedFile } from "./manifest.ts"
import { ReleaseFiles } from "./releaseFiles.ts"

/** Dotfiles are not served, except `.well-known` (RFC 8615). */
const isHidden = (name: string): boolean => name.startsWith(".") && name !== ".well-known"

/** Resolves the folder to serve. Rejects a symbolic link, which a build may have put in its place. */
const findServedFolder = (folder: string, root: string): string => {
  const served = tryRealpath(join(folder, root))
  if (served === undefined || !statSync(served).isDirectory())
    throw new ReleaseRejectedError("The folder to serve does not exist")
  if (served !== join(realpathSync(folder), root))
    throw new ReleaseRejectedError("The folder to serve is a symbolic link")
  return served
}

const tryRealpath = (path: string): string | undefined => {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/**
 * Lists all files below the folder, without links and devices. Applies the limits, since a build may have added files.
 */
const listFiles = (folder: string, limits: UnpackLimits): ReadonlyArray<string> => {
  const budget = new Budget(limits)
  const files: Array<string> = []
  const folders = [""]
  for (let parent = folders.pop(); parent !== undefined; parent = folders.pop()) {
    const directory = opendirSync(join(folder, parent))
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        if (isHidden(entry.name) || !(entry.isDirectory() || entry.isFile())) continue
        const path = parent === "" ? entry.name : `${parent}/${entry.name}`
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

const hashFile = (path: string, buffer: Buffer): ServedFile => {
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

/** `root` is the folder to serve, in `folder`; `earlier` are the folders of earlier releases of the deployment. */
export const makeManifest = (
  folder: string,
  root: string,
  earlier: ReadonlyArray<string>,
  limits: UnpackLimits
): Buffer => {
  const served = findServedFolder(folder, root)
  const buffer = Buffer.alloc(64 * 1024)
  const releaseFiles = new ReleaseFiles(folder, earlier)
  return encodeManifest(
    listFiles(served, limits).map((path) => {
      const file = hashFile(join(served, path), buffer)
      releaseFiles.add(join(served, path), file.digest)
      return [path, file]
    })
  )
}
