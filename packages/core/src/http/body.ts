/**
 * Reads a request body as JSON and validates it before any handler sees it: size, nesting depth, well-formed Unicode,
 * finite numbers, no `__proto__`. The content type is ignored.
 */
import { Effect, Exit } from "effect"
import { PayloadTooLarge, RequestTimeout, UnsupportedEncoding } from "../errors/requestErrors.ts"
import { bodyErrorMessage } from "../runtime/BodyNotRestorableError.ts"
import type { TransportRequest } from "../runtime/Transport.ts"
import { type InvalidInput, invalidBody } from "../schema/InvalidInput.ts"
import { findUnsafeJson, maxDepth } from "../schema/SafeJson.ts"

const bodyTimeout = "30 seconds"

export interface JsonBody {
  readonly text: string
  readonly value: unknown
}

const emptyBody: JsonBody = { text: "{}", value: {} }

export type BodyError = InvalidInput | PayloadTooLarge | RequestTimeout | UnsupportedEncoding

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Checks the depth before parsing: deeply nested JSON could overflow the parser's stack. */
const isTooDeep = (text: string): boolean => {
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (inString) {
      if (character === "\\") index++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === "{" || character === "[") {
      if (++depth > maxDepth) return true
    } else if (character === "}" || character === "]") depth--
  }
  return false
}

const parseJsonBody = (bytes: Uint8Array): Effect.Effect<JsonBody, InvalidInput> => {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return Effect.fail(invalidBody("", "is not valid UTF-8"))
  }
  if (/^[ \t\r\n]*$/.test(text)) return Effect.succeed(emptyBody)
  if (isTooDeep(text)) return Effect.fail(invalidBody("", `is nested deeper than ${maxDepth} levels`))
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
      bytes === undefined ? Effect.fail(new PayloadTooLarge({ maxBytes: limit })) : parseJsonBody(bytes)
  )
}
