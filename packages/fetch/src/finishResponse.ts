/**
 * Finishes the response to a protected request: adds the `RateLimit` headers, and reports how the request ended.
 */
import type { AuthorizeRequestResult } from "@tollgate/protect"

export type AllowedResult = Extract<AuthorizeRequestResult, { readonly allowed: true }>
type ReportOutcome = NonNullable<AllowedResult["reportOutcome"]>

/** Adds headers that the response does not have, in place if possible. */
const addHeaders = (response: Response, headers: Readonly<Record<string, string>>): Response => {
  const missing = Object.entries(headers).filter(([name]) => !response.headers.has(name))
  try {
    for (const [name, value] of missing) response.headers.set(name, value)
    return response
  } catch {
    // A network error cannot be copied.
    if (response.type === "error") return response
    // The headers of a response from `fetch` or `Response.redirect` are immutable.
    const copy = new Response(response.body, response)
    for (const [name, value] of missing) copy.headers.set(name, value)
    return copy
  }
}

/** Passes a body on, chunk by chunk as it is read. Reports what was read, and success at its end. */
const reportAtEnd = (body: ReadableStream<Uint8Array>, reportOutcome: ReportOutcome): ReadableStream<Uint8Array> => {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read()
          if (!done) {
            if (value.length > 0) reportOutcome("sent")
            return controller.enqueue(value)
          }
          reportOutcome("success")
          controller.close()
        } catch (error) {
          reportOutcome("failure")
          throw error
        }
      },
      cancel: (reason) => {
        reportOutcome("failure")
        return reader.cancel(reason)
      }
    },
    // Reads nothing before the server asks for it.
    { highWaterMark: 0 }
  )
}

/** Returns the response to send. A response with a body is a copy, which reports success when its body was read. */
export const finishResponse = (
  { method }: Request,
  original: Response,
  { headers, reportOutcome }: AllowedResult
): Response => {
  const response = addHeaders(original, headers)
  if (reportOutcome === undefined) return response
  const { status, body } = response
  // `Response.error()` has the status 0. A body that something else reads cannot be sent.
  const isSuccess = status > 0 && status < 400 && body?.locked !== true && !response.bodyUsed
  // A server does not read the body of a response to HEAD.
  if (isSuccess && body !== null && method !== "HEAD") return new Response(reportAtEnd(body, reportOutcome), response)
  reportOutcome(isSuccess ? "success" : "failure")
  return response
}

/** Reports failure if the client disconnects before the request has ended. */
export const reportAbort = ({ signal }: Request, result: AuthorizeRequestResult): AuthorizeRequestResult => {
  if (!result.allowed || result.reportOutcome === undefined) return result
  const { reportOutcome } = result
  const onAbort = () => reportOutcome("failure")
  if (signal.aborted) onAbort()
  else signal.addEventListener("abort", onAbort, { once: true })
  return {
    ...result,
    reportOutcome: (outcome) => {
      if (outcome !== "sent") signal.removeEventListener("abort", onAbort)
      reportOutcome(outcome)
    }
  }
}
