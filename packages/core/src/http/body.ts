/**
 * The body of a request as JSON text that nothing behind it needs to fear: not too long, not too deep, real Unicode,
 * finite numbers, no property that means something to JavaScript. It is JSON whatever the content type says.
 */
import { Effect } from "effect"
import { type InvalidInput, invalidBody } from "../shared/InvalidInput.ts"
import { deepest, offence } from "../shared/SafeJson.ts"
import { PayloadTooLargeProblem, RequestTimeoutProblem, UnsupportedEncodingProblem } from "./problems.ts"

/** How long a body may take to arrive. */
const patience = "30 seconds"

export type BodyFault = InvalidInput | PayloadTooLargeProblem | RequestTimeoutProblem | UnsupportedEncodingProblem

const tooLarge = (limit: number) =>
  new PayloadTooLargeProblem({ detail: `A body may have ${limit} bytes; send less, or in several requests` })

const read = async (request: Request, limit: number): Promise<Uint8Array | PayloadTooLargeProblem> => {
  if (request.body === null) return new Uint8Array()
  if (Number(request.headers.get("content-length") ?? 0) > limit) return tooLarge(limit)
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of request.body) {
    size += chunk.byteLength
    if (size > limit) return tooLarge(limit)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

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
      if (++depth > deepest) return true
    } else if (character === "}" || character === "]") depth--
  }
  return false
}

const checked = (bytes: Uint8Array): Effect.Effect<string, InvalidInput> => {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return Effect.fail(invalidBody("", "it is not valid UTF-8"))
  }
  if (/^[ \t\r\n]*$/.test(text)) return Effect.succeed("{}")
  if (isTooDeep(text)) return Effect.fail(invalidBody("", `it is nested deeper than ${deepest}`))
  try {
    const fault = offence(JSON.parse(text))
    return fault === undefined ? Effect.succeed(text) : Effect.fail(fault)
  } catch {
    return Effect.fail(invalidBody("", "it is not JSON"))
  }
}

/** The text of a body that has passed; `{}` where there is none. */
export const jsonText = (request: Request, limit: number): Effect.Effect<string, BodyFault> =>
  Effect.gen(function* () {
    const encoding = request.headers.get("content-encoding") ?? "identity"
    if (encoding.toLowerCase() !== "identity") {
      return yield* new UnsupportedEncodingProblem({ detail: "Send the body as it is, without Content-Encoding" })
    }
    const bytes = yield* Effect.tryPromise({
      try: () => read(request, limit),
      catch: () => invalidBody("", "it was not received whole")
    }).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () =>
          Effect.fail(new RequestTimeoutProblem({ detail: "The body did not arrive in time; send it again" }))
      })
    )
    if (bytes instanceof PayloadTooLargeProblem) return yield* bytes
    return yield* checked(bytes)
  })
