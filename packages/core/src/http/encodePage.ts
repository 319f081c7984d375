/**
 * Encodes a page or a series as JSON in chunks, so that a large one neither blocks the event loop nor is held in memory as
 * one string.
 */
import { Effect, Exit } from "effect"
import { nextTurn, WorkOwner } from "../runtime/turns.ts"

/** Target size of a chunk, in characters. */
const chunkSize = 128 * 1024
/** Pages up to this size are sent as one string, with a Content-Length; larger ones are streamed. */
const maxBufferedSize = 256 * 1024

interface Page {
  readonly data: ReadonlyArray<unknown>
}

/** Encodes a page, or a part of one. */
type Encode<E> = (page: Page) => Exit.Exit<unknown, E>

interface EncodedPage {
  readonly data: ReadonlyArray<unknown>
  readonly [field: string]: unknown
}

export const isPage = (value: unknown): value is Page =>
  typeof value === "object" && value !== null && "data" in value && Array.isArray(value.data)

/** Yields the JSON of a page in chunks. Each chunk is encoded when the consumer pulls it. */
function* encodeChunks<E>(page: Page, encode: Encode<E>): Generator<Exit.Exit<string, E>, void> {
  let [offset, size] = [0, 1]
  let opening = '{"data":['
  let fields: object = {}
  do {
    const encoded = encode({ ...page, data: page.data.slice(offset, offset + size) })
    if (Exit.isFailure(encoded)) return yield Exit.failCause(encoded.cause)
    const { data, ...rest } = encoded.value as EncodedPage
    fields = rest
    const text = data.map((item) => JSON.stringify(item)).join(",")
    yield Exit.succeed(opening + text)
    opening = ","
    offset += data.length
    // Choose the number of items so that the next chunk has about `chunkSize` characters.
    size = Math.max(1, Math.min(200, Math.floor((chunkSize * data.length) / (text.length + 1))))
  } while (offset < page.data.length)
  yield Exit.succeed(`],${JSON.stringify(fields).slice(1)}`)
}

const toStream = <E>(
  buffered: ReadonlyArray<string>,
  chunks: Generator<Exit.Exit<string, E>, void>,
  owner: string
): ReadableStream<Uint8Array> => {
  const bufferedChunks = buffered[Symbol.iterator]()
  const pullNext = (): IteratorResult<Exit.Exit<string, E> | string, void> => {
    const next = bufferedChunks.next()
    return next.done === true ? chunks.next() : next
  }
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        // A fast reader would otherwise block the event loop.
        await Effect.runPromise(Effect.provideService(nextTurn, WorkOwner, owner))
        const { done, value } = pullNext()
        if (done === true) return controller.close()
        if (typeof value === "string") return controller.enqueue(Buffer.from(value))
        if (Exit.isSuccess(value)) return controller.enqueue(Buffer.from(value.value))
        controller.error(new Error("The page does not match its schema"))
      }
    },
    { highWaterMark: 1 }
  )
}

/** Encodes a page as JSON: a string if it is small, a stream if it is large. */
export const encodePage = <E>(page: Page, encode: Encode<E>): Effect.Effect<string | ReadableStream<Uint8Array>, E> =>
  Effect.gen(function* () {
    const owner = yield* WorkOwner
    const chunks = encodeChunks(page, encode)
    const buffered: Array<string> = []
    let length = 0
    // Not `for … of`, which would close the generator on the early return.
    for (let chunk = chunks.next(); chunk.done !== true; chunk = chunks.next()) {
      const text = yield* chunk.value
      buffered.push(text)
      length += text.length
      if (length > maxBufferedSize) return toStream(buffered, chunks, owner)
      if (length > chunkSize) yield* nextTurn
    }
    return buffered.join("")
  })
