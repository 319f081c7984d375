/**
 * Inflates gzip as it is read. Not by `stream.pipeline`: what that reports when data follows the end of gzip, or when its
 * reader throws, differs between releases of Node.
 */
import { createGunzip, type Gunzip } from "node:zlib"

/** Waits until a stream takes more, or will never do so. */
const waitForRoom = (stream: Gunzip): Promise<void> =>
  new Promise((resolve) => {
    const events = ["drain", "end", "error", "close"]
    const proceed = () => {
      for (const event of events) stream.off(event, proceed)
      resolve()
    }
    for (const event of events) stream.on(event, proceed)
  })

const feed = async (source: AsyncIterable<Uint8Array>, stream: Gunzip): Promise<void> => {
  try {
    for await (const chunk of source) {
      // Zeros behind the end of gzip are ignored, as other programs do.
      if (stream.destroyed || stream.readableEnded) return
      if (!stream.write(chunk)) await waitForRoom(stream)
    }
    stream.end()
  } catch (error) {
    stream.destroy(error instanceof Error ? error : new Error(String(error)))
  }
}

export async function* gunzip(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const stream = createGunzip({ chunkSize: 64 * 1024 })
  const feeding = feed(source, stream)
  try {
    yield* stream
  } finally {
    stream.destroy()
    await feeding
  }
}
