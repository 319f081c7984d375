/**
 * Decodes the 512-byte header of a tar entry. Strict: rejects input that other programs might interpret differently.
 */
import { isUtf8 } from "node:buffer"
import { quote, ReleaseRejectedError } from "./limits.ts"

export const blockSize = 512

export interface TarHeader {
  readonly type: string
  readonly path: string
  readonly linkPath: string
  readonly size: number
  readonly mode: number
}

export class DamagedArchiveError extends Error {
  override readonly name = "DamagedArchiveError"
}

const zeros = Buffer.alloc(64 * 1024)

export const isZero = (bytes: Buffer): boolean => {
  for (let at = 0; at < bytes.length; at += zeros.length) {
    const chunk = bytes.subarray(at, at + zeros.length)
    if (!chunk.equals(zeros.subarray(0, chunk.length))) return false
  }
  return true
}

/** Decodes a NUL-terminated name. Rejects data after the NUL, which would otherwise be dropped silently. */
export const decodeName = (bytes: Buffer): string => {
  const nul = bytes.indexOf(0)
  const name = nul === -1 ? bytes : bytes.subarray(0, nul)
  if (!isUtf8(name)) throw new ReleaseRejectedError(`${quote(name.toString("latin1"))} has a name that is not UTF-8`)
  if (nul !== -1 && !isZero(bytes.subarray(nul))) {
    const end = bytes.findLastIndex((byte) => byte !== 0) + 1
    throw new ReleaseRejectedError(`${quote(bytes.toString("utf8", 0, end))} has a NUL byte in its name`)
  }
  return name.toString("utf8")
}

const [space, zeroDigit, sevenDigit] = [0x20, 0x30, 0x37]

/** Decodes a number in octal digits, or in base 256 as GNU tar writes large numbers. */
const decodeNumber = (field: Buffer): number => {
  const first = field[0] ?? 0
  if (first >= 0x80) return decodeBase256(field)
  let [value, at] = [0, 0]
  while (field[at] === space) at++
  for (; at < field.length; at++) {
    const byte = field[at] ?? 0
    if (byte < zeroDigit || byte > sevenDigit) break
    value = value * 8 + (byte - zeroDigit)
  }
  for (; at < field.length; at++) {
    if (field[at] !== space && field[at] !== 0) throw new DamagedArchiveError("a number that is not octal")
  }
  return value
}

const decodeBase256 = (field: Buffer): number => {
  if (field[0] !== 0x80) throw new DamagedArchiveError("a negative number")
  let value = 0
  for (const byte of field.subarray(1)) {
    value = value * 256 + byte
    if (value > Number.MAX_SAFE_INTEGER) throw new DamagedArchiveError("a number that is too large")
  }
  return value
}

const checksumStart = 148
const checksumEnd = 156

const hasValidChecksum = (block: Buffer): boolean => {
  let sum = 0
  for (let at = 0; at < blockSize; at++) sum += at >= checksumStart && at < checksumEnd ? space : (block[at] ?? 0)
  return sum === decodeNumber(block.subarray(checksumStart, checksumEnd))
}

/**
 * Decodes the path prefix of ustar. GNU tar stores timestamps in the field, and some programs store timestamps after
 * the first 130 bytes.
 */
const decodePrefix = (block: Buffer): string => {
  if (block.toString("latin1", 257, 263) !== "ustar\0") return ""
  return decodeName(block.subarray(345, block[475] === 0 ? 475 : 500))
}

/** Throws `DamagedArchiveError` if the block is not a header, and `ReleaseRejectedError` if its names are invalid. */
export const decodeHeader = (block: Buffer): TarHeader => {
  if (block.length < blockSize || !hasValidChecksum(block)) throw new DamagedArchiveError("not a tar header")
  const name = decodeName(block.subarray(0, 100))
  const prefix = decodePrefix(block)
  return {
    type: String.fromCharCode(block[156] ?? 0),
    path: prefix === "" ? name : `${prefix}/${name}`,
    linkPath: decodeName(block.subarray(157, 257)),
    size: decodeNumber(block.subarray(124, 136)),
    mode: decodeNumber(block.subarray(100, 108))
  }
}
