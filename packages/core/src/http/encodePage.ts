/**
 * Writes a page as JSON in pieces: a large one neither holds up the event loop nor stands in memory as one text.
 */
import { setImmediate } from "node:timers/promises"
import { Effect, Exit } from "effect"
import type { Page } from "../schema/Page.ts"

/** About as many characters are encoded at a time; a page of up to as many is one text, and has a length. */
const pieceSize = 256 * 1024
const wholeSize = 1024 * 1024

/** Encodes a page whole; it is given parts of it. */
type Encode<E> = (page: Page<unknown>) => Exit.Exit<unknown, E>

interface EncodedPage {
  readonly data: ReadonlyArray<unknown>
  readonly [field: string]: unknown
}

export const isPage = (value: unknown): value is Page<unknown> =>
  typeof value === "object" && value !== null && "data" in value && Array.isArray(value.data) && "total" in value

/** The pieces of a page's JSON, each encoded when it is asked for. */
function* piecesOf<E>(page: Page<unknown>, encode: Encode<E>): Generator<Exit.Exit<string, E>, void> {
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
    size = Math.max(1, Math.min(200, Math.floor((pieceSize * data.length) / (text.length + 1))))
  } while (offset < page.data.length)
  yield Exit.succeed(`],${JSON.stringify(fields).slice(1)}`)
}

const streamOf = <E>(
  first: ReadonlyArray<string>,
  pieces: Generator<Exit.Exit<string, E>, void>
): ReadableStream<Uint8Array> => {
  const written = first[Symbol.iterator]()
  const next = (): IteratorResult<Exit.Exit<string, E> | string, void> => {
    const earlier = written.next()
    return earlier.done === true ? pieces.next() : earlier
  }
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        // A reader that is always ready would otherwise leave the event loop no turn.
        await setImmediate()
        const { done, value } = next()
        if (done === true) return controller.close()
        if (typeof value === "string") return controller.enqueue(Buffer.from(value))
        if (Exit.isSuccess(value)) return controller.enqueue(Buffer.from(value.value))
        controller.error(new Error("the page does not fit its schema"))
      }
    },
    { highWaterMark: 1 }
  )
}

/** The JSON of a page: a text if it is short, a stream if it is long. */
export const encodePage = <E>(
  page: Page<unknown>,
  encode: Encode<E>
): Effect.Effect<string | ReadableStream<Uint8Array>, E> =>
  Effect.gen(function* () {
    const pieces = piecesOf(page, encode)
    const texts: Array<string> = []
    let length = 0
    // Not `for … of`, which would end the generator when it is left early.
    for (let piece = pieces.next(); piece.done !== true; piece = pieces.next()) {
      const text = yield* piece.value
      texts.push(text)
      length += text.length
      if (length > wholeSize) return streamOf(texts, pieces)
      if (length > pieceSize) yield* Effect.yieldNow
    }
    return texts.join("")
  })
