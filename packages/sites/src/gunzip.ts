/**
 * Inflates a gzip stream. Does not use `stream.pipeline`, whose errors for trailing data and for a throwing consumer
 * differ between Node versions.
 */
import { createGunzip, type Gunzip } from "node:zlib"

/** Waits until the stream accepts more data or has ended. */
const waitForDrain = (stream: Gunzip): Promise<void> =>
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
      // Ignores zero padding after the end of the gzip stream, as other programs do.
      if (stream.destroyed || stream.readableEnded) return
      if (!stream.write(chunk)) await waitForDrain(stream)
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
