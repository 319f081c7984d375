/**
 * Makes tar archives for tests, including malformed ones.
 */
import { gzipSync } from "node:zlib"

export interface Entry {
  readonly name: string | Buffer
  /** The path prefix of ustar. */
  readonly prefix?: string
  readonly type?: string
  readonly content?: string | Uint8Array
  readonly link?: string
  readonly mode?: number
  /** The raw size field, if it differs from the size of the content. */
  readonly size?: string | Buffer
}

const block = 512

const padToBlock = (content: Uint8Array): Buffer =>
  Buffer.concat([content], Math.ceil(content.byteLength / block) * block)

export const makeEntry = ({
  name,
  prefix = "",
  type = "0",
  content = "",
  link = "",
  mode = 0o644,
  size
}: Entry): Buffer => {
  const body = Buffer.from(content as string)
  const header = Buffer.alloc(block)
  const put = (value: string | Buffer, offset: number, length: number) =>
    Buffer.from(value as string).copy(header, offset, 0, length)
  put(name, 0, 100)
  put(mode.toString(8).padStart(7, "0"), 100, 8)
  put("0000000", 108, 8)
  put("0000000", 116, 8)
  put(size ?? body.length.toString(8).padStart(11, "0"), 124, 12)
  put("00000000000", 136, 12)
  put("        ", 148, 8)
  put(type, 156, 1)
  put(link, 157, 100)
  put("ustar\0", 257, 6)
  put("00", 263, 2)
  put(prefix, 345, 155)
  const sum = header.reduce((total, byte) => total + byte, 0)
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148, 8)
  return Buffer.concat([header, padToBlock(body)])
}

/** Makes a record of an extended header. Its length includes the length itself. */
export const makePaxRecord = (key: string, value: string): string => {
  const rest = ` ${key}=${value}\n`
  let length = Buffer.byteLength(rest)
  while (String(length).length + Buffer.byteLength(rest) !== length) {
    length = String(length).length + Buffer.byteLength(rest)
  }
  return `${length}${rest}`
}

export const makeTar = (...entries: ReadonlyArray<Entry>): Buffer =>
  Buffer.concat([...entries.map(makeEntry), Buffer.alloc(2 * block)])

export const makeArchive = (...entries: ReadonlyArray<Entry>): Buffer => gzipSync(makeTar(...entries), { level: 1 })

/** Makes the archive of a site with one page. */
export const makePageArchive = (content: string, ...extraEntries: ReadonlyArray<Entry>): Buffer =>
  makeArchive({ name: "index.html", content }, ...extraEntries)
