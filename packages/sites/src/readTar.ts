/**
 * A strict reader of tar archives: ustar, PAX and GNU long names. General-purpose readers buffer extended headers of
 * any declared size and tolerate malformed input that an attacker may exploit.
 */
import { type Budget, maxPaddingBytes } from "./Budget.ts"
import type { ByteReader } from "./ByteReader.ts"
import { quote, ReleaseRejectedError } from "./limits.ts"
import { type Overrides, readRecords } from "./paxRecords.ts"
import { blockSize, DamagedArchiveError, decodeHeader, decodeName, isZero, type TarHeader } from "./tarHeader.ts"

export interface TarEntry {
  readonly kind: "file" | "folder" | "symbolic link" | "hard link"
  readonly path: string
  readonly linkPath: string
  /** The size of the content in bytes. 0 unless the entry is a file. */
  readonly size: number
  readonly isExecutable: boolean
  /** The content. Can be read once, before the next entry is read. */
  readonly content: () => AsyncGenerator<Buffer>
}

const kinds: Readonly<Record<string, TarEntry["kind"]>> = {
  "\0": "file",
  "0": "file",
  "7": "file",
  "1": "hard link",
  "2": "symbolic link",
  "5": "folder"
}

const rejectedKinds: Readonly<Record<string, string>> = {
  "3": "a device",
  "4": "a device",
  "6": "a pipe",
  S: "a sparse file; create the archive without -S"
}

const getKind = ({ type, path }: TarHeader): TarEntry["kind"] => {
  const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
  if (kind === undefined)
    throw new ReleaseRejectedError(`${quote(path)} is ${rejectedKinds[type] ?? "of an unknown type"}`)
  // Archives from before the folder type existed mark a folder by a trailing slash.
  return kind === "file" && path.endsWith("/") ? "folder" : kind
}

const getPadding = (size: number): number => (blockSize - (size % blockSize)) % blockSize

/** Yields the entries. Throws `DamagedArchiveError` if the input is truncated or not a tar archive. */
export async function* readTar(input: ByteReader, budget: Budget): AsyncGenerator<TarEntry> {
  let overrides: Overrides = {}

  const readExactly = async (length: number): Promise<Buffer> => {
    const bytes = await input.read(length)
    if (bytes.length < length) throw new DamagedArchiveError("truncated")
    return bytes
  }

  const readExtended = async ({ type, path, size }: TarHeader): Promise<void> => {
    budget.addHeader(size, path)
    const body = await readExactly(size)
    await readExactly(getPadding(size))
    if (type === "L") overrides.path = decodeName(body)
    else if (type === "K") overrides.linkPath = decodeName(body)
    else if (type === "x") readRecords(body, overrides)
    else {
      const globalOverrides: Overrides = {}
      readRecords(body, globalOverrides)
      if (Object.values(globalOverrides).some((value) => value !== undefined)) {
        throw new ReleaseRejectedError(
          `${quote(path)} is a global header that sets the path, link or size of all entries`
        )
      }
    }
  }

  for (;;) {
    const block = await input.read(blockSize)
    if (block.length === 0 && Object.keys(overrides).length === 0) return
    if (block.length === blockSize && isZero(block)) break
    const header = decodeHeader(block)
    if ("LKxg".includes(header.type)) {
      await readExtended(header)
      continue
    }
    const resolved = { ...header, path: overrides.path ?? header.path, linkPath: overrides.linkPath ?? header.linkPath }
    const kind = getKind(resolved)
    const size = kind === "file" ? (overrides.size ?? header.size) : 0
    overrides = {}
    let remaining = size
    async function* content(): AsyncGenerator<Buffer> {
      while (remaining > 0) {
        const chunk = await input.readSome(remaining)
        if (chunk.length === 0) throw new DamagedArchiveError("truncated")
        remaining -= chunk.length
        yield chunk
      }
    }
    const { path, linkPath, mode } = resolved
    yield { kind, path, linkPath, size, isExecutable: (mode & 0o111) !== 0, content }
    for await (const _ of content());
    await readExactly(getPadding(size))
  }

  for (let padding = 0; padding <= maxPaddingBytes; ) {
    const rest = await input.readSome(Number.MAX_SAFE_INTEGER)
    if (rest.length === 0) return
    if (!isZero(rest)) throw new ReleaseRejectedError("There is data after the end of the archive")
    padding += rest.length
  }
  throw new ReleaseRejectedError(`There are more than ${maxPaddingBytes} bytes after the end of the archive`)
}
