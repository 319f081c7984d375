/**
 * Follows server-sent events with `fetch`, because `EventSource` cannot send a token. A stream that breaks off is resumed
 * after the last event that arrived.
 */
import { ApiError } from "./ApiError.ts"
import { openStream } from "./request.ts"

export interface ServerSentEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** How long to wait before a stream is resumed. */
const retryMs = 1_000

const wait = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, retryMs)
    signal.addEventListener("abort", () => {
      clearTimeout(timer)
      resolve()
    })
  })

/** Reads one event. Comments, which keep the connection open, and times to retry are none. */
const parseEvent = (text: string): ReadonlyArray<ServerSentEvent> => {
  const fields = { id: "", event: "message" }
  const data: Array<string> = []
  for (const line of text.split("\n")) {
    const [, name, value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? []
    if (name === "data") data.push(value)
    else if (name === "id" || name === "event") fields[name] = value
  }
  return data.length === 0 ? [] : [{ ...fields, data: data.join("\n") }]
}

/** The events of one response, as many at once as have arrived. */
async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ReadonlyArray<ServerSentEvent>, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ""
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const parts = (text + decoder.decode(chunk.value, { stream: true })).split("\n\n")
    text = parts.pop() ?? ""
    const events = parts.flatMap(parseEvent)
    if (events.length > 0) yield events
  }
}

/** The server or the connection may be back a moment later. */
const isPassing = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.problem.status === 0 || error.problem.status === 429

/** Yields events until the server says that no more follow, or `signal` is aborted. */
export async function* followEvents(
  path: string,
  signal: AbortSignal
): AsyncGenerator<ReadonlyArray<ServerSentEvent>, void> {
  let lastEventId: string | undefined
  while (!signal.aborted) {
    try {
      const { status, body } = await openStream(path, { lastEventId, signal })
      if (status === 204 || body === null) return
      for await (const events of readEvents(body)) {
        lastEventId = events.at(-1)?.id
        yield events
      }
    } catch (error) {
      if (!signal.aborted && !isPassing(error)) throw error
    }
    await wait(signal)
  }
}
