/** Reads a stream of chunks by byte length. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** Reads between 1 and `max` bytes. Returns an empty buffer only at the end. */
  async readSome(max: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next()
      if (done === true) return this.#rest
      this.#rest = value
    }
    const bytes = this.#rest.subarray(0, max)
    this.#rest = this.#rest.subarray(bytes.length)
    return bytes
  }

  /** Reads `length` bytes. Returns fewer only at the end. */
  async read(length: number): Promise<Buffer> {
    const first = await this.readSome(length)
    if (first.length === length || first.length === 0) return first
    const buffer = Buffer.alloc(length)
    let filled = first.copy(buffer)
    while (filled < length) {
      const bytes = await this.readSome(length - filled)
      if (bytes.length === 0) break
      filled += bytes.copy(buffer, filled)
    }
    return buffer.subarray(0, filled)
  }
}
