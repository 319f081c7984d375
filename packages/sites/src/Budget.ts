import { diskBytes, maxContentBytes, quote, ReleaseRejectedError, type UnpackLimits } from "./limits.ts"

/** Counts the entries and bytes of a source or a release. Throws for the entry that exceeds a limit. */
export class Budget {
  readonly #limits: UnpackLimits
  /** The size of the archive; `Infinity` for files that do not come from one. */
  readonly #archiveBytes: number
  #entries = 0
  #bytes = 0
  #contentBytes = 0
  #pathBytes = 0
  #headers = 0
  #headerBytes = 0

  constructor(limits: UnpackLimits, archiveBytes = Number.POSITIVE_INFINITY) {
    this.#limits = limits
    this.#archiveBytes = archiveBytes
  }

  /** The size on the disk of everything that was counted. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Counts a name on the disk: an entry, or a parent folder that the entry's path implies. Error messages name `entry`.
   */
  addEntry(path: string, entry = path): void {
    const { entries, pathBytes } = this.#limits
    if (++this.#entries > entries)
      throw new ReleaseRejectedError(`${quote(entry)} exceeds the limit of ${entries} entries`)
    this.#pathBytes += Buffer.byteLength(path)
    if (this.#pathBytes > pathBytes) {
      throw new ReleaseRejectedError(`${quote(entry)} exceeds the limit of ${pathBytes} bytes for all paths`)
    }
  }

  checkDepth(folders: number, entry: string): void {
    const { depth } = this.#limits
    if (folders > depth) throw new ReleaseRejectedError(`${quote(entry)} is more than ${depth} folders deep`)
  }

  addBytes(size: number, entry: string): void {
    const { bytes, unpackRatio } = this.#limits
    this.#bytes += diskBytes(size)
    this.#contentBytes += size
    if (this.#bytes > bytes)
      throw new ReleaseRejectedError(`${quote(entry)} exceeds the limit of ${bytes} bytes for all files`)
    if (this.#contentBytes > maxContentBytes(this.#limits, this.#archiveBytes)) {
      throw new ReleaseRejectedError(
        `${quote(entry)} makes the source more than ${unpackRatio} times as large as its archive of ${this.#archiveBytes} bytes`
      )
    }
  }

  /** Counts a PAX header or a GNU long name, which costs time although it is not written to the disk. */
  addHeader(size: number, name: string): void {
    const { entries, headerBytes } = this.#limits
    if (++this.#headers > 2 * entries) {
      throw new ReleaseRejectedError(`${quote(name)} exceeds the limit of ${2 * entries} extended headers`)
    }
    if (size > maxHeaderBytes) {
      throw new ReleaseRejectedError(`${quote(name)} is an extended header larger than ${maxHeaderBytes} bytes`)
    }
    this.#headerBytes += size
    if (this.#headerBytes > headerBytes) {
      throw new ReleaseRejectedError(`${quote(name)} exceeds the limit of ${headerBytes} bytes for extended headers`)
    }
  }
}

/** An extended header is read into memory completely. */
const maxHeaderBytes = 64 * 1024

const tarBlock = 512

/** The maximum zero padding after the end of an archive. */
export const maxPaddingBytes = 1024 * 1024

/**
 * The maximum inflated size of an archive within its limits: contents and extended headers, each with a header block
 * and up to a block of padding, and the padding at the end.
 */
export const maxInflatedBytes = ({ bytes, entries, headerBytes }: UnpackLimits): number =>
  bytes + entries * 2 * tarBlock + 2 * entries * 2 * tarBlock + headerBytes + maxPaddingBytes
