import { diskBytes, InvalidArchiveError, quote, type UnpackLimits } from "./limits.ts"

/** Counts what a source or a release costs, and refuses the entry that brings it over a limit. */
export class Budget {
  readonly #limits: UnpackLimits
  #entries = 0
  #bytes = 0
  #pathBytes = 0
  #headers = 0
  #headerBytes = 0

  constructor(limits: UnpackLimits) {
    this.#limits = limits
  }

  /** One more name on the disk: an entry, or a folder that the path of the entry implies. */
  addEntry(path: string, entry = path): void {
    const { entries, pathBytes } = this.#limits
    if (++this.#entries > entries)
      throw new InvalidArchiveError(`${quote(entry)} is one entry more than the ${entries} allowed`)
    this.#pathBytes += Buffer.byteLength(path)
    if (this.#pathBytes > pathBytes) {
      throw new InvalidArchiveError(`${quote(entry)} brings all paths over the ${pathBytes} bytes allowed`)
    }
  }

  checkDepth(folders: number, entry: string): void {
    const { depth } = this.#limits
    if (folders > depth) throw new InvalidArchiveError(`${quote(entry)} is more than ${depth} folders deep`)
  }

  addBytes(size: number, entry: string): void {
    const { bytes } = this.#limits
    this.#bytes += diskBytes(size)
    if (this.#bytes > bytes)
      throw new InvalidArchiveError(`${quote(entry)} brings the files over the ${bytes} bytes allowed`)
  }

  /** A PAX header or a GNU long name: it costs time, though nothing of it is written. */
  addHeader(size: number, name: string): void {
    const { entries, headerBytes } = this.#limits
    if (++this.#headers > 2 * entries) {
      throw new InvalidArchiveError(`${quote(name)} is one extended header more than the ${2 * entries} allowed`)
    }
    if (size > maxHeaderBytes) {
      throw new InvalidArchiveError(
        `${quote(name)} is an extended header of more than the ${maxHeaderBytes} bytes allowed`
      )
    }
    this.#headerBytes += size
    if (this.#headerBytes > headerBytes) {
      throw new InvalidArchiveError(`${quote(name)} brings the extended headers over the ${headerBytes} bytes allowed`)
    }
  }
}

/** One extended header is read into memory whole. */
const maxHeaderBytes = 64 * 1024

const tarBlock = 512

/** The zeros that may fill an archive up behind its end. */
export const maxFillingBytes = 1024 * 1024

/** The most that an archive within its limits can inflate to: contents, headers, padding, and the filling of its end. */
export const maxInflatedBytes = ({ bytes, entries, headerBytes }: UnpackLimits): number =>
  bytes + entries * 2 * tarBlock + 2 * entries * 2 * tarBlock + headerBytes + maxFillingBytes
