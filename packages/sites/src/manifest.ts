/**
 * What a release serves: every file by its path, with its size and its tag. What is not in it is not served, so that no
 * path leads anywhere else.
 */
import { createHash } from "node:crypto"
import { constants, createReadStream } from "node:fs"
import { open, readdir } from "node:fs/promises"
import { join } from "node:path"

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

const read = async (path: string): Promise<ServedFile> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const hash = createHash("sha256")
    let size = 0
    for await (const chunk of createReadStream(path, { fd: file, autoClose: false })) {
      size += chunk.length
      hash.update(chunk)
    }
    return { size, digest: hash.digest("base64url") }
  } finally {
    await file.close()
  }
}

/** Reads a folder whole; links and devices are passed by. */
export const manifestOf = async (folder: string, root: string, signal: AbortSignal): Promise<Manifest> => {
  const files: Record<string, ServedFile> = Object.create(null)
  const visit = async (below: string): Promise<void> => {
    for (const entry of await readdir(join(folder, root, below), { withFileTypes: true })) {
      signal.throwIfAborted()
      if (isHidden(entry.name)) continue
      const path = below === "" ? entry.name : `${below}/${entry.name}`
      if (entry.isDirectory()) await visit(path)
      else if (entry.isFile()) files[path] = await read(join(folder, root, path))
    }
  }
  await visit("")
  return { root, files }
}

/** What is asked for first: the index, or else the first file. */
export const entranceOf = ({ files }: Manifest): string | undefined =>
  Object.hasOwn(files, "index.html") ? "index.html" : Object.keys(files).sort()[0]
