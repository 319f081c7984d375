/**
 * What a release serves: every file by its path, with its size and its tag. What is not in it is not served, so that no
 * path leads anywhere else.
 */
import { createHash } from "node:crypto"
import { constants } from "node:fs"
import { open, readdir, realpath, stat } from "node:fs/promises"
import { join } from "node:path"
import type { UnpackLimits } from "./unpack.ts"

export interface ServedFile {
  readonly size: number
  /** The SHA-256 of its content. */
  readonly digest: string
}

export interface Manifest {
  /** Where the files are, in the release's folder. */
  readonly root: string
  readonly files: Readonly<Record<string, ServedFile>>
}

/** Files whose name begins with a dot are the author's own, but for those that the web has agreed on. */
const isHidden = (name: string): boolean => name.startsWith(".") && name !== ".well-known"

/** There is nothing to be served, or too much. */
export class Unservable extends Error {
  override readonly name = "Unservable"
}

const read = async (path: string, signal: AbortSignal): Promise<ServedFile> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const hash = createHash("sha256")
    let size = 0
    for await (const chunk of file.createReadStream({ autoClose: false, signal })) {
      size += chunk.length
      hash.update(chunk)
    }
    return { size, digest: hash.digest("base64url") }
  } finally {
    await file.close()
  }
}

/** The folder that is served, if it is really where it seems to be: a build may have made a link of it. */
const servedFolder = async (folder: string, root: string): Promise<string> => {
  const served = await realpath(join(folder, root)).catch(() => undefined)
  if (served === undefined || !(await stat(served)).isDirectory()) throw new Unservable("there is no folder to serve")
  if (served !== join(await realpath(folder), root)) throw new Unservable("the folder to serve is a link")
  return served
}

/** Every file in the folder, with its size; links and devices are passed by. Nothing is read that is too much. */
const filesIn = async (folder: string, limits: UnpackLimits, signal: AbortSignal): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  let bytes = 0
  const visit = async (below: string): Promise<void> => {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
      signal.throwIfAborted()
      if (isHidden(entry.name)) continue
      const path = below === "" ? entry.name : `${below}/${entry.name}`
      if (entry.isDirectory()) await visit(path)
      if (!entry.isFile()) continue
      bytes += (await stat(join(folder, path))).size
      if (found.push(path) > limits.entries || bytes > limits.bytes) {
        throw new Unservable(`it comes to more than ${limits.entries} files or ${limits.bytes} bytes`)
      }
    }
  }
  await visit("")
  return found
}

/** How many files are read at once. */
const readers = 4

/** Reads a folder whole. */
export const manifestOf = async (
  folder: string,
  root: string,
  limits: UnpackLimits,
  signal: AbortSignal
): Promise<Manifest> => {
  const served = await servedFolder(folder, root)
  const paths = await filesIn(served, limits, signal)
  const files: Record<string, ServedFile> = Object.create(null)
  const rest = paths.values()
  const reader = async () => {
    for (const path of rest) files[path] = await read(join(served, path), signal)
  }
  await Promise.all(Array.from({ length: readers }, reader))
  return { root, files }
}

/** What is asked for first: the index, or else the first file. */
export const entranceOf = ({ files }: Manifest): string | undefined =>
  Object.hasOwn(files, "index.html") ? "index.html" : Object.keys(files).sort()[0]
