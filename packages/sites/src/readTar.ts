/**
 * Reads the entries of a tar archive: ustar, PAX and GNU long names. Written here, and strict, because general readers
 * hold an extended header of any declared size in memory, and forgive what an attacker may use.
 */
import { type Budget, maxFillingBytes } from "./Budget.ts"
import type { ByteReader } from "./ByteReader.ts"
import { InvalidArchiveError, quote } from "./limits.ts"
import { type Overrides, readRecords } from "./paxRecords.ts"
import { blockSize, DamagedArchiveError, decodeHeader, decodeName, isZero, type TarHeader } from "./tarHeader.ts"

export interface TarEntry {
  readonly kind: "file" | "folder" | "symbolic link" | "hard link"
  readonly path: string
  readonly linkPath: string
  /** Bytes of its content; only files have one. */
  readonly size: number
  readonly isExecutable: boolean
  /** The content, read at most once, before the next entry is. */
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

const refusedKinds: Readonly<Record<string, string>> = {
  "3": "a device",
  "4": "a device",
  "6": "a pipe",
  S: "a sparse file; make the archive without -S"
}

const kindOf = ({ type, path }: TarHeader): TarEntry["kind"] => {
  const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
  if (kind === undefined)
    throw new InvalidArchiveError(`${quote(path)} is ${refusedKinds[type] ?? "of an unknown kind"}`)
  // The way to write a folder before there was a kind for it.
  return kind === "file" && path.endsWith("/") ? "folder" : kind
}

const paddingOf = (size: number): number => (blockSize - (size % blockSize)) % blockSize

/** Yields every entry; fails with Damaged where the archive is cut off or is none. */
export async function* readTar(input: ByteReader, budget: Budget): AsyncGenerator<TarEntry> {
  let overrides: Overrides = {}

  const readExactly = async (length: number): Promise<Buffer> => {
    const bytes = await input.read(length)
    if (bytes.length < length) throw new DamagedArchiveError("cut off")
    return bytes
  }

  const readExtended = async ({ type, path, size }: TarHeader): Promise<void> => {
    budget.addHeader(size, path)
    const body = await readExactly(size)
    await readExactly(paddingOf(size))
    if (type === "L") overrides.path = decodeName(body)
    else if (type === "K") overrides.linkPath = decodeName(body)
    else if (type === "x") readRecords(body, overrides)
    else {
      const all: Overrides = {}
      readRecords(body, all)
      if (Object.values(all).some((value) => value !== undefined)) {
        throw new InvalidArchiveError(`${quote(path)} is a header that gives all entries one path, link or size`)
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
    const whole = { ...header, path: overrides.path ?? header.path, linkPath: overrides.linkPath ?? header.linkPath }
    const kind = kindOf(whole)
    const size = kind === "file" ? (overrides.size ?? header.size) : 0
    overrides = {}
    let left = size
    async function* content(): AsyncGenerator<Buffer> {
      while (left > 0) {
        const piece = await input.readSome(left)
        if (piece.length === 0) throw new DamagedArchiveError("cut off")
        left -= piece.length
        yield piece
      }
    }
    const { path, linkPath, mode } = whole
    yield { kind, path, linkPath, size, isExecutable: (mode & 0o111) !== 0, content }
    for await (const _ of content());
    await readExactly(paddingOf(size))
  }

  for (let filling = 0; filling <= maxFillingBytes; ) {
    const rest = await input.readSome(Number.MAX_SAFE_INTEGER)
    if (rest.length === 0) return
    if (!isZero(rest)) throw new InvalidArchiveError("it has data behind the end of the archive")
    filling += rest.length
  }
  throw new InvalidArchiveError(`it has more than ${maxFillingBytes} bytes behind the end of the archive`)
}
