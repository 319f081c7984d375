import type { MessagePort } from "node:worker_threads"

/** Sends a worker what it asks for of a source. */
export class SourceSender {
  readonly #port: MessagePort
  readonly #source: AsyncIterable<Uint8Array>
  #chunks: AsyncIterator<Uint8Array> | undefined

  constructor(port: MessagePort, source: AsyncIterable<Uint8Array>) {
    this.#port = port
    this.#source = source
  }

  open(): void {
    this.close()
    this.#chunks = this.#source[Symbol.asyncIterator]()
  }

  async send(): Promise<void> {
    const next = await this.#chunks?.next()
    if (next === undefined || next.done === true) return this.#port.postMessage(undefined)
    // A copy, since the rest of the chunk's buffer may hold something else.
    const chunk = new Uint8Array(next.value)
    this.#port.postMessage(chunk, [chunk.buffer])
  }

  /** Does not wait: a source that hangs must not hold up a failure. */
  close(): void {
    this.#chunks?.return?.().catch(() => undefined)
  }
}
