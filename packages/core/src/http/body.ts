/**
 * Reads a request body as JSON and validates it before any handler sees it: size, nesting depth, well-formed Unicode,
 * finite numbers, no `__proto__`. The content type is ignored.
 */

import {
  bodyErrorMessage,
  findUnsafeJson,
  type InvalidInput,
  invalidBody,
  maxDepth,
  maxValues,
  nextTurn,
  PayloadTooLarge,
  RequestTimeout,
  type TransportRequest,
  tooManyValues,
  UnsupportedEncoding
} from "@tollgate/store/internal"
import { Effect, Exit } from "effect"

const bodyTimeout = "30 seconds"

export interface JsonBody {
  readonly text: string
  readonly value: unknown
}

/** A body that is longer is one of few of its account, and read in a turn of its own: parsing cannot be divided. */
export const shortBodyBytes = 16 * 1024

const emptyBody: JsonBody = { text: "{}", value: {} }

export type BodyError = InvalidInput | PayloadTooLarge | RequestTimeout | UnsupportedEncoding

/** A list or an object without entries counts twice: by its bracket, and by the comma before it. */
const maxSeparators = 2 * maxValues

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const [quote, backslash, comma] = ['"', "\\", ","].map((character) => character.charCodeAt(0))
const [openBrace, openBracket, closeBrace, closeBracket] = ["{", "[", "}", "]"].map((text) => text.charCodeAt(0))

/** Bounds what parsing costs, before it: deep nesting takes the stack, and each value takes time and memory. */
const findExcess = (text: string): string | undefined => {
  let depth = 0
  let values = 1
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === backslash) index++
      else if (code === quote) inString = false
    } else if (code === quote) inString = true
    else if (code === comma) values++
    else if (code === openBrace || code === openBracket) {
      values++
      if (++depth > maxDepth) return `is nested deeper than ${maxDepth} levels`
    } else if (code === closeBrace || code === closeBracket) depth--
    if (values > maxSeparators) return tooManyValues
  }
  return undefined
}

const parseJsonBody = (bytes: Uint8Array): Effect.Effect<JsonBody, InvalidInput> => {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return Effect.fail(invalidBody("", "is not valid UTF-8"))
  }
  if (/^[ \t\r\n]*$/.test(text)) return Effect.succeed(emptyBody)
  const excess = findExcess(text)
  if (excess !== undefined) return Effect.fail(invalidBody("", excess))
  try {
    const value: unknown = JSON.parse(text)
    const unsafe = findUnsafeJson(value)
    return unsafe === undefined ? Effect.succeed({ text, value }) : Effect.fail(unsafe)
  } catch {
    return Effect.fail(invalidBody("", "is not valid JSON"))
  }
}

/**
 * Reads the bytes of a body, or fails after `bodyTimeout`. Only the timer is a fiber: `Effect.timeout` would run the
 * reading in another, which takes as long as the rest of a small request.
 */
const readBytesInTime = (
  readBytes: TransportRequest["readBytes"],
  limit: number
): Effect.Effect<Uint8Array | undefined, InvalidInput | RequestTimeout> =>
  Effect.withFiber(({ context }) =>
    Effect.callback((resume) => {
      const timer = Effect.runForkWith(context)(Effect.sleep(bodyTimeout))
      const settle = (result: Exit.Exit<Uint8Array | undefined, InvalidInput | RequestTimeout>) => {
        timer.interruptUnsafe()
        resume(result)
      }
      timer.addObserver((exit) => {
        if (Exit.isSuccess(exit)) resume(Exit.fail(new RequestTimeout()))
      })
      readBytes(limit).then(
        (bytes) => settle(Exit.succeed(bytes)),
        (error) => settle(Exit.fail(invalidBody("", bodyErrorMessage(error, "was not received completely"))))
      )
      return Effect.sync(() => timer.interruptUnsafe())
    })
  )

/** Reads and validates the body; an empty body counts as `{}`. */
export const readJsonBody = (
  { headers, readBytes }: TransportRequest,
  limit: number
): Effect.Effect<JsonBody, BodyError> => {
  const encoding = headers["content-encoding"] ?? "identity"
  if (encoding.toLowerCase() !== "identity") return Effect.fail(new UnsupportedEncoding())
  if (Number(headers["content-length"] ?? 0) > limit) return Effect.fail(new PayloadTooLarge({ maxBytes: limit }))
  return Effect.flatMap(
    readBytesInTime(readBytes, limit),
    (bytes): Effect.Effect<JsonBody, BodyError> =>
      bytes === undefined
        ? Effect.fail(new PayloadTooLarge({ maxBytes: limit }))
        : bytes.byteLength <= shortBodyBytes
          ? parseJsonBody(bytes)
          : Effect.flatMap(nextTurn, () => parseJsonBody(bytes))
  )
}
