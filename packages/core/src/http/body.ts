/**
 * The body of a request as JSON that nothing behind it needs to fear: not too long, not too deep, real Unicode,
 * finite numbers, no property that means something to JavaScript. It is JSON whatever the content type says.
 */
import { Effect } from "effect"
import { PayloadTooLargeProblem, RequestTimeoutProblem, UnsupportedEncodingProblem } from "../api/problems.ts"
import { bodyErrorMessage } from "../runtime/bodyErrorMessage.ts"
import type { TransportRequest } from "../runtime/Transport.ts"
import { type InvalidInput, invalidBody } from "../schema/InvalidInput.ts"
import { findUnsafeJson, maxDepth } from "../schema/SafeJson.ts"
import { RequestId } from "./RequestId.ts"

/** How long a body may take to arrive. */
const bodyTimeout = "30 seconds"

export interface JsonBody {
  readonly text: string
  readonly value: unknown
}

const emptyBody: JsonBody = { text: "{}", value: {} }

export type BodyError = InvalidInput | PayloadTooLargeProblem | RequestTimeoutProblem | UnsupportedEncodingProblem

const tooLarge = (limit: number, instance: string) =>
  new PayloadTooLargeProblem({ detail: `A body may have ${limit} bytes; send less, or in several requests`, instance })

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Nesting is counted before anything is parsed: a parser's own stack is not the place to find out. */
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
    return Effect.fail(invalidBody("", "it is not valid UTF-8"))
  }
  if (/^[ \t\r\n]*$/.test(text)) return Effect.succeed(emptyBody)
  if (isTooDeep(text)) return Effect.fail(invalidBody("", `it is nested deeper than ${maxDepth}`))
  try {
    const value: unknown = JSON.parse(text)
    const fault = findUnsafeJson(value)
    return fault === undefined ? Effect.succeed({ text, value }) : Effect.fail(fault)
  } catch {
    return Effect.fail(invalidBody("", "it is not JSON"))
  }
}

/** A body that has passed; an empty object where there is none. */
export const readJsonBody = (
  { headers, bytes: read }: TransportRequest,
  limit: number
): Effect.Effect<JsonBody, BodyError> =>
  Effect.gen(function* () {
    const instance = yield* RequestId
    const encoding = headers["content-encoding"] ?? "identity"
    if (encoding.toLowerCase() !== "identity") {
      const detail = "Send the body as it is, without Content-Encoding"
      return yield* new UnsupportedEncodingProblem({ detail, instance })
    }
    if (Number(headers["content-length"] ?? 0) > limit) return yield* tooLarge(limit, instance)
    const bytes = yield* Effect.tryPromise({
      try: () => read(limit),
      catch: (error) => invalidBody("", bodyErrorMessage(error, "it was not received whole"))
    }).pipe(
      Effect.timeoutOrElse({
        duration: bodyTimeout,
        orElse: () =>
          Effect.fail(new RequestTimeoutProblem({ detail: "The body did not arrive in time; send it again", instance }))
      })
    )
    return yield* bytes === undefined ? tooLarge(limit, instance) : parseJsonBody(bytes)
  })
