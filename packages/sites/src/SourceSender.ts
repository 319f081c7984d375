import type { MessagePort } from "node:worker_threads"

/** Sends a source to a worker thread, one requested chunk at a time. */
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
    // Copies the chunk, since its buffer may be shared with other data and a transfer detaches the whole buffer.
    const chunk = new Uint8Array(next.value)
    this.#port.postMessage(chunk, [chunk.buffer])
  }

  /** Does not wait, so that a hanging source does not delay the report of a failure. */
  close(): void {
    this.#chunks?.return?.().catch(() => undefined)
  }
}
