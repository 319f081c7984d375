/** Reads a stream of chunks by length. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** What is there next, at most so many bytes; empty only at the end. */
  async readSome(max: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next()
      if (done === true) return this.#rest
      this.#rest = value
    }
    const piece = this.#rest.subarray(0, max)
    this.#rest = this.#rest.subarray(piece.length)
    return piece
  }

  /** So many bytes; fewer only at the end. */
  async read(length: number): Promise<Buffer> {
    const first = await this.readSome(length)
    if (first.length === length || first.length === 0) return first
    const whole = Buffer.alloc(length)
    let filled = first.copy(whole)
    while (filled < length) {
      const piece = await this.readSome(length - filled)
      if (piece.length === 0) break
      filled += piece.copy(whole, filled)
    }
    return whole.subarray(0, filled)
  }
}
