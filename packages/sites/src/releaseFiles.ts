/**
 * The files of a release, by digest: `files/<digest>` in its folder. A file that an earlier release of the deployment has
 * is a hard link to it, so the disk has it once. The file system counts the links: a file is freed with the last release
 * that has it, in whatever order releases are removed, and never before. Synchronous, since it runs in a worker thread.
 */
import { constants, copyFileSync, linkSync, lstatSync, mkdirSync, readFileSync, renameSync, unlinkSync } from "node:fs"
import { join } from "node:path"
import { isMissing } from "./isMissing.ts"
import { diskBytes } from "./limits.ts"
import { decodeManifest, listServedFiles } from "./manifest.ts"

export const manifestName = "manifest"
export const filesName = "files"

/** The estimated size of an entry of a folder. */
const entryBytes = 64

const codesWithoutLink = ["ENOENT", "ENOTDIR", "EMLINK", "EPERM", "EXDEV", "ENOTSUP", "EOPNOTSUPP"]

/**
 * Returns whether the link was made. Not if the file does not exist, is damaged, has too many links, or the disk has no
 * links.
 */
const tryLink = (from: string, to: string, size: number): boolean => {
  try {
    linkSync(from, to)
    if (lstatSync(to).size === size) return true
    unlinkSync(to)
    return false
  } catch (error) {
    if (error instanceof Error && "code" in error && codesWithoutLink.includes(String(error.code))) return false
    throw error
  }
}

/** Moves the files of a release into their folder, or links those that an earlier release has. */
export class ReleaseFiles {
  readonly #folder: string
  readonly #earlier: ReadonlyArray<string>
  readonly #digests = new Set<string>()

  /** `earlier` are the folders of earlier releases, which may be removed meanwhile. */
  constructor(folder: string, earlier: ReadonlyArray<string>) {
    this.#folder = folder
    this.#earlier = earlier
    mkdirSync(join(folder, filesName))
  }

  add(path: string, digest: string): void {
    if (this.#digests.has(digest)) return
    this.#digests.add(digest)
    const own = join(this.#folder, filesName, digest)
    const { size, nlink } = lstatSync(path)
    if (this.#earlier.some((earlier) => tryLink(join(earlier, filesName, digest), own, size))) return
    // A build may have another name for the file, such as in a cache, through which a later one would change it.
    if (nlink > 1) copyFileSync(path, own, constants.COPYFILE_EXCL)
    else renameSync(path, own)
  }
}

const readManifest = (folder: string): Buffer | undefined => {
  try {
    return readFileSync(join(folder, manifestName))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Whether a release has its manifest and each file in it, in its size. */
export const isReleaseWhole = (folder: string): boolean => {
  const manifest = readManifest(folder)
  if (manifest === undefined) return false
  const seen = new Set<string>()
  for (const { digest, size } of listServedFiles(decodeManifest(manifest))) {
    if (seen.has(digest)) continue
    seen.add(digest)
    const stat = lstatSync(join(folder, filesName, digest), { throwIfNoEntry: false })
    if (stat?.isFile() !== true || stat.size !== size) return false
  }
  return true
}

/** What releases occupy on the disk: each file counts for the first of them that has it. */
export const measureReleases = (folders: ReadonlyArray<string>): ReadonlyArray<number> => {
  const counted = new Set<string>()
  return folders.map((folder) => {
    const manifest = readManifest(folder)
    if (manifest === undefined) return 0
    const digests = new Set<string>()
    let bytes = 0
    for (const { digest, size } of listServedFiles(decodeManifest(manifest))) {
      digests.add(digest)
      if (counted.has(digest)) continue
      counted.add(digest)
      bytes += diskBytes(size)
    }
    return bytes + diskBytes(manifest.length) + diskBytes(digests.size * entryBytes)
  })
}
