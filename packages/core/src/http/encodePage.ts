/**
 * Encodes a page or a series as JSON in chunks, so that a large one neither blocks the event loop nor is held in memory as
 * one string.
 */

import { nextTurn, WorkOwner } from "@tollgate/store/internal"
import { Effect, Exit } from "effect"

/** Target size of a chunk, in characters. */
const chunkSize = 128 * 1024
/** Pages up to this size are sent as one string, with a Content-Length; larger ones are streamed. */
const maxBufferedSize = 256 * 1024

export interface Page {
  readonly data: ReadonlyArray<unknown>
  /** Where the next page begins, if there is one. */
  readonly next?: string
}

/** Encodes a page, or a part of one. */
type Encode<E> = (page: Page) => Exit.Exit<unknown, E>

interface EncodedPage {
  readonly data: ReadonlyArray<unknown>
  readonly [field: string]: unknown
}

export const isPage = (value: unknown): value is Page =>
  typeof value === "object" && value !== null && "data" in value && Array.isArray(value.data)

/** The JSON of items that follow each other in a page, and of the page without its items. */
interface Part {
  readonly items: ReadonlyArray<string>
  readonly fields: object
}

/** Yields the items of a page in parts: at least one. Each is encoded when the consumer pulls it. */
export function* encodeItems<E>(page: Page, encode: Encode<E>): Generator<Exit.Exit<Part, E>, void> {
  let [offset, size] = [0, 1]
  do {
    const encoded = encode({ ...page, data: page.data.slice(offset, offset + size) })
    if (Exit.isFailure(encoded)) return yield Exit.failCause(encoded.cause)
    const { data, ...fields } = encoded.value as EncodedPage
    const items = data.map((item) => JSON.stringify(item))
    yield Exit.succeed({ items, fields })
    offset += items.length
    // Choose the number of items so that the next part has about `chunkSize` characters.
    const length = items.reduce((sum, item) => sum + item.length, items.length)
    size = Math.max(1, Math.min(200, Math.floor((chunkSize * items.length) / (length + 1))))
  } while (offset < page.data.length)
}

/** Yields the JSON of a page in chunks. */
function* encodeChunks<E>(page: Page, encode: Encode<E>): Generator<Exit.Exit<string, E>, void> {
  let opening = '{"data":['
  let fields: object = {}
  for (const part of encodeItems(page, encode)) {
    if (Exit.isFailure(part)) return yield Exit.failCause(part.cause)
    fields = part.value.fields
    yield Exit.succeed(opening + part.value.items.join(","))
    opening = ","
  }
  const end = JSON.stringify(fields).slice(1)
  yield Exit.succeed(end === "}" ? "]}" : `],${end}`)
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
