/**
 * Reads the records of a PAX header: `<length> <key>=<value>\n`, where the length includes the whole record.
 */
import { quote, ReleaseRejectedError } from "./limits.ts"
import { DamagedArchiveError, decodeName } from "./tarHeader.ts"

/** The fields of the next entry that an extended header overrides. */
export interface Overrides {
  path?: string | undefined
  linkPath?: string | undefined
  size?: number | undefined
}

const [newline, space, equals, zeroDigit] = [0x0a, 0x20, 0x3d, 0x30]

/** Parses the decimal digits from `start` to `end`. */
const parseDecimal = (bytes: Buffer, start: number, end: number): number => {
  let value = 0
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - zeroDigit
    value = value * 10 + digit
    if (digit < 0 || digit > 9 || value > Number.MAX_SAFE_INTEGER)
      throw new DamagedArchiveError("a number that is not decimal")
  }
  if (start === end) throw new DamagedArchiveError("a number without digits")
  return value
}

/** Calls `visit` with the offsets of each key and value. Linear in the size of the header. */
const forEachRecord = (body: Buffer, visit: (key: number, value: number, end: number) => void): void => {
  for (let at = 0; at < body.length; ) {
    const key = body.indexOf(space, at) + 1
    if (key === 0) throw new DamagedArchiveError("a PAX record without a length")
    const end = at + parseDecimal(body, at, key - 1)
    const value = body.indexOf(equals, key) + 1
    if (end > body.length || value <= key + 1 || value >= end || body[end - 1] !== newline) {
      throw new DamagedArchiveError("a malformed PAX record")
    }
    visit(key, value, end - 1)
    at = end
  }
}

const decodePath = (value: Buffer): string | undefined => {
  if (value.includes(0)) throw new ReleaseRejectedError(`${quote(value.toString("utf8"))} has a NUL byte in its name`)
  return value.length === 0 ? undefined : decodeName(value)
}

/** Longer keys are truncated to save memory. The longest relevant key is `GNU.sparse.numblocks`. */
const maxKeyLength = 24

/** Reads the relevant records into `overrides`. An empty value cancels an earlier record. */
export const readRecords = (body: Buffer, overrides: Overrides): void => {
  let sparse: string | undefined
  forEachRecord(body, (keyStart, start, end) => {
    const key = body.toString("latin1", keyStart, Math.min(start - 1, keyStart + maxKeyLength))
    if (key === "path") overrides.path = decodePath(body.subarray(start, end))
    if (key === "linkpath") overrides.linkPath = decodePath(body.subarray(start, end))
    if (key === "size") overrides.size = start === end ? undefined : parseDecimal(body, start, end)
    if (key === "GNU.sparse.name") sparse = body.toString("utf8", start, end)
    else if (key.startsWith("GNU.sparse.")) sparse ??= key
  })
  if (sparse !== undefined)
    throw new ReleaseRejectedError(`${quote(sparse)} is a sparse file; create the archive without -S`)
}
