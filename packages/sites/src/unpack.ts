/**
 * Takes an archive apart that may be hostile. Every entry is judged by its header, before anything of it is written.
 * Only files and folders are made, so that no name in the folder ever leads out of it: a link to a file of the same
 * archive becomes a copy of it, and any other link is refused.
 */
import { constants } from "node:fs"
import { copyFile, mkdir, open, rm } from "node:fs/promises"
import { dirname, join, posix } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createGunzip } from "node:zlib"
import { Parser, type ReadEntry } from "tar"

export interface UnpackLimits {
  readonly entries: number
  /** Bytes that all files may have together. */
  readonly bytes: number
}

export const defaultLimits: UnpackLimits = { entries: 20_000, bytes: 500 * 1024 * 1024 }

/** The archive is not taken; the message names the entry. */
export class Rejected extends Error {
  override readonly name = "Rejected"
}

const empty = Buffer.alloc(0)
const blockSize = 512
/** What headers and padding may take beside the files. */
const overhead = 64 * 1024 * 1024
const longestName = 1024
/** How often a link may lead to a link. */
const longestChain = 40

const quoted = (name: string): string => JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name)

const kinds: Readonly<Record<string, string>> = {
  CharacterDevice: "a device",
  BlockDevice: "a device",
  FIFO: "a pipe"
}

const isFile = ({ type }: ReadEntry): boolean => type === "File" || type === "OldFile" || type === "ContiguousFile"

/** A field of a header, up to the zeros that fill it. */
const fieldOf = (header: Buffer, from: number, to: number): string =>
  header.subarray(from, to).toString("utf8").replace(/\0+$/, "")

/** The parser ends a name at its first zero: what comes behind it would be lost without a word. */
const namesIn = (header: Buffer): ReadonlyArray<string> => [
  fieldOf(header, 0, 100),
  // Some keep times behind the first 131 bytes of the second field.
  ...(header.subarray(257, 263).toString("latin1") === "ustar\0" ? [fieldOf(header, 345, 476)] : [])
]

/** Where an entry goes, below the folder; nothing for the folder itself. */
const placeOf = ({ path }: ReadEntry): string => {
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) throw new Rejected(`${quoted(path)} is an absolute path`)
  if (path.includes("\\")) throw new Rejected(`${quoted(path)} has a backslash in its name`)
  if (/\p{Cc}/u.test(path)) throw new Rejected(`${quoted(path)} has a control character in its name`)
  if (path.length > longestName) throw new Rejected(`${quoted(path)} has too long a name`)
  if (path.split("/").includes("..")) throw new Rejected(`${quoted(path)} leads outside`)
  return posix.normalize(path).replace(/^\.\/?$|\/$/, "")
}

const isLink = ({ type }: ReadEntry): boolean => type === "SymbolicLink" || type === "Link"

/** Which file of the archive a link points to, by names alone: a symbolic link from its folder, a hard link from the top. */
const targetOf = (entry: ReadEntry): string => {
  const { path, linkpath = "", type } = entry
  const from = type === "Link" ? "" : posix.dirname(placeOf(entry))
  const target = posix.normalize(posix.join(from, linkpath))
  if (posix.isAbsolute(linkpath) || target.split("/")[0] === "..") {
    throw new Rejected(`${quoted(path)} is a link that leads outside, to ${quoted(linkpath)}`)
  }
  return target
}

const write = async (entry: ReadEntry, path: string): Promise<void> => {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
  const isProgram = ((entry.mode ?? 0) & 0o111) !== 0
  const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, isProgram ? 0o755 : 0o644)
  try {
    for await (const chunk of entry) await file.writeFile(chunk)
  } finally {
    await file.close()
  }
}

const misplaced = new Set(["EISDIR", "ERR_FS_EISDIR", "ENOTDIR", "EEXIST", "ENAMETOOLONG", "ENOENT"])

/** What the system refuses for the sake of a name is the archive's fault; anything else is not. */
const asRejected = (error: unknown, path: string): unknown =>
  misplaced.has((error as { code?: string }).code ?? "")
    ? new Rejected(`${quoted(path)} cannot be a file or folder beside the others`)
    : error

/** Unpacks a gzip tar into a folder that is there and empty. */
export const unpack = async (
  source: AsyncIterable<Uint8Array>,
  folder: string,
  limits: UnpackLimits,
  signal: AbortSignal
): Promise<{ readonly files: number; readonly bytes: number }> => {
  let [entries, bytes, received] = [0, 0, 0]
  let header: Buffer = empty
  /** What is left of the body that the last header announced. */
  let body = 0
  let last = ""
  let failure: unknown
  let work: Promise<unknown> = Promise.resolve()
  let current: ReadEntry | undefined
  let isOver = false
  const folders = new Set<string>()
  const written = new Map<string, number>()
  const links = new Map<string, { readonly path: string; readonly target: string }>()

  /** Judges an entry when its header has been read, and nothing else. */
  const judge = (path: string, entry: ReadEntry): boolean => {
    last = path
    const named = namesIn(header).find((name) => name.includes("\0"))
    if (named !== undefined) throw new Rejected(`${quoted(named)} has a zero in its name`)
    if (++entries > limits.entries) {
      throw new Rejected(`${quoted(path)} is one entry more than the ${limits.entries} that are taken`)
    }
    placeOf(entry)
    if (isLink(entry)) targetOf(entry)
    else if (!isFile(entry) && entry.type !== "Directory") {
      throw new Rejected(`${quoted(path)} is ${kinds[entry.type] ?? "neither a file nor a folder"}`)
    }
    bytes += isFile(entry) ? entry.size : 0
    if (bytes > limits.bytes) {
      throw new Rejected(`${quoted(path)} brings the files over the ${limits.bytes} bytes that are taken`)
    }
    body = entry.blockRemain
    return true
  }

  const makeFolder = async (path: string): Promise<void> => {
    if (folders.has(path)) return
    await mkdir(path, { recursive: true })
    folders.add(path)
  }

  const take = async (entry: ReadEntry): Promise<void> => {
    const place = placeOf(entry)
    const path = join(folder, place)
    try {
      links.delete(place)
      // A file that is named twice may be a link to itself.
      if (isLink(entry) && targetOf(entry) === place && written.has(place)) return
      bytes -= written.get(place) ?? 0
      written.delete(place)
      if (isLink(entry)) links.set(place, { path: entry.path, target: targetOf(entry) })
      else if (isFile(entry)) {
        await makeFolder(dirname(path))
        await write(entry, path)
        written.set(place, entry.size)
      } else await makeFolder(path)
    } catch (error) {
      failure ??= asRejected(error, entry.path)
    } finally {
      entry.resume()
    }
  }

  /** Makes a copy for each link, once everything is there that it may point to. */
  const follow = async (place: string, link: { readonly path: string; readonly target: string }): Promise<void> => {
    let { target } = link
    for (let step = 0; links.has(target) && step < longestChain; step++) target = links.get(target)?.target ?? target
    const size = written.get(target)
    if (size === undefined) throw new Rejected(`${quoted(link.path)} is a link to no file of the archive`)
    bytes += size
    if (bytes > limits.bytes) {
      throw new Rejected(`${quoted(link.path)} brings the files over the ${limits.bytes} bytes that are taken`)
    }
    try {
      await makeFolder(dirname(join(folder, place)))
      await rm(join(folder, place), { force: true })
      await copyFile(join(folder, target), join(folder, place))
    } catch (error) {
      throw asRejected(error, link.path)
    }
  }

  const parser = new Parser({ strict: true, filter: (path, entry) => judge(path, entry as ReadEntry) })
  const parsed = new Promise<void>((resolve) => parser.once("end", resolve))
  parser.on("entry", (entry: ReadEntry) => {
    current = entry
    // The parser goes on when an entry has been read; the one before may not have been written yet.
    work = work.then(() => take(entry))
  })
  parser.on("eof", () => {
    isOver = true
  })
  parser.on("ignoredEntry", (entry: ReadEntry) => {
    failure ??= new Rejected(`${quoted(entry.path)} is of a kind that is not known, or too large a header`)
  })
  parser.on("meta", (text: string) => {
    if (text.replace(/\0+$/, "").includes("\0")) failure ??= new Rejected(`${quoted(text)} has a zero in its name`)
    const [, sparse] = /GNU\.sparse\.name=([^\n]*)/.exec(text) ?? /(GNU\.sparse\.)/.exec(text) ?? []
    if (sparse !== undefined)
      failure ??= new Rejected(`${quoted(sparse)} is a sparse file; make the archive without -S`)
  })
  parser.on("error", (error: unknown) => {
    // An archive of nothing is whole.
    if (isOver && entries === 0) return
    failure ??=
      error instanceof Rejected ? error : new Rejected(`it is damaged${last === "" ? "" : ` after ${quoted(last)}`}`)
  })

  const feed = async (piece: Buffer): Promise<void> => {
    if (!parser.write(piece)) {
      await new Promise<void>((resolve) => {
        parser.once("drain", resolve)
        // An entry that cannot be written will never make room.
        work.then(() => (failure === undefined ? undefined : resolve()))
      })
    }
    if (failure !== undefined) throw failure
  }

  const consume = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) {
      received += chunk.length
      if (received > limits.bytes + overhead) throw new Rejected(`it unpacks to more than ${limits.bytes} bytes`)
      // What follows the end is filling.
      let rest = isOver ? empty : chunk
      while (rest.length > 0) {
        if (body > 0) {
          const piece = rest.subarray(0, body)
          body -= piece.length
          rest = rest.subarray(piece.length)
          await feed(piece)
          continue
        }
        const missing = blockSize - (header.length % blockSize)
        const piece = rest.subarray(0, missing)
        header = header.length === blockSize ? Buffer.from(piece) : Buffer.concat([header, piece])
        rest = rest.subarray(piece.length)
        if (header.length === blockSize) await feed(header)
      }
    }
  }

  /** Remembers why it fails: on Node 22 `pipeline` reports an AbortError instead of what its last function throws. */
  const consumeOrFail = (chunks: AsyncIterable<Buffer>): Promise<void> =>
    consume(chunks).catch((error) => {
      failure ??= error
      throw error
    })

  try {
    await pipeline(Readable.from(source, { objectMode: false }), createGunzip(), consumeOrFail, { signal })
    parser.end()
    await parsed
    await work
  } catch (error) {
    // Nothing more comes for the entry that is being written.
    current?.destroy()
    await work
    if (error instanceof Rejected) throw error
    if (failure instanceof Rejected) throw failure
    const { code = "" } = error as { code?: string }
    if (code === "Z_DATA_ERROR" && received === 0) throw new Rejected("it is not a gzip archive")
    if (code === "Z_DATA_ERROR" || code === "Z_BUF_ERROR") {
      throw new Rejected(`it is damaged or cut off${last === "" ? "" : ` in ${quoted(last)}`}`)
    }
    throw error
  }
  if (failure !== undefined) throw failure
  if (body > 0) throw new Rejected(`it is cut off in ${quoted(last)}`)
  for (const [place, link] of links) {
    signal.throwIfAborted()
    await follow(place, link)
  }
  const files = written.size + links.size
  if (files === 0) throw new Rejected("there is no file in it")
  return { files, bytes }
}
