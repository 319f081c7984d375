/**
 * Writes tar archives (ustar). Names that do not fit into a header, or have other than ASCII characters, go into an
 * extended header (pax) before it.
 */

const blockSize = 512
const maxNameBytes = 100
const maxOctalSize = 8 ** 11 - 1

const encoder = new TextEncoder()

export interface TarItem {
  /** With "/" between the names. */
  readonly path: string
  readonly kind: "file" | "folder"
  readonly bytes: number
  /** Milliseconds since 1970. */
  readonly modifiedOn: number
}

type HeaderType = "0" | "5" | "x"

interface HeaderFields {
  readonly name: Uint8Array
  readonly type: HeaderType
  readonly bytes: number
  readonly modifiedOn: number
}

const toOctal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, "0")}\0`

const makeHeader = ({ name, type, bytes, modifiedOn }: HeaderFields): Uint8Array<ArrayBuffer> => {
  const header = new Uint8Array(blockSize)
  const write = (text: string, offset: number): void => header.set(encoder.encode(text), offset)
  header.set(name.subarray(0, maxNameBytes), 0)
  write(toOctal(type === "5" ? 0o755 : 0o644, 8), 100)
  write(toOctal(0, 8), 108)
  write(toOctal(0, 8), 116)
  write(toOctal(Math.min(bytes, maxOctalSize), 12), 124)
  write(toOctal(Math.max(0, Math.floor(modifiedOn / 1000)), 12), 136)
  // The checksum is computed as if its own field were spaces.
  write(" ".repeat(8), 148)
  write(type, 156)
  write("ustar\x0000", 257)
  const checksum = header.reduce((sum, byte) => sum + byte, 0)
  write(`${checksum.toString(8).padStart(6, "0")}\0 `, 148)
  return header
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
const makePaxRecord = (key: string, value: string): Uint8Array => {
  const rest = encoder.encode(` ${key}=${value}\n`).length
  let length = rest + String(rest).length
  if (rest + String(length).length !== length) length = rest + String(length).length
  return encoder.encode(`${length} ${key}=${value}\n`)
}

export const concatenate = (parts: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const part of parts) {
    all.set(part, offset)
    offset += part.length
  }
  return all
}

/** The zeros after content of this size, up to the next block. */
export const makePadding = (bytes: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array((blockSize - (bytes % blockSize)) % blockSize)

/** What comes before the content of a file, or all of a folder. */
export const makeTarHeader = ({ path, kind, bytes, modifiedOn }: TarItem): Uint8Array<ArrayBuffer> => {
  const fullPath = kind === "folder" ? `${path}/` : path
  const name = encoder.encode(fullPath)
  const isPlain = name.length <= maxNameBytes && name.every((byte) => byte >= 0x20 && byte < 0x7f)
  const header = makeHeader({ name, type: kind === "folder" ? "5" : "0", bytes, modifiedOn })
  if (isPlain && bytes <= maxOctalSize) return header
  const records = concatenate([
    ...(isPlain ? [] : [makePaxRecord("path", fullPath)]),
    ...(bytes <= maxOctalSize ? [] : [makePaxRecord("size", String(bytes))])
  ])
  return concatenate([
    makeHeader({ name: encoder.encode("pax-header"), type: "x", bytes: records.length, modifiedOn }),
    records,
    makePadding(records.length),
    header
  ])
}

/** Two empty blocks end an archive. */
export const makeTarEnd = (): Uint8Array<ArrayBuffer> => new Uint8Array(2 * blockSize)
