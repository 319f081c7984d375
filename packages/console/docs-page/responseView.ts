/**
 * Renders a response: its status, selected headers and its body.
 */
import { element } from "./dom.ts"

const shownHeaders = [
  "content-type",
  "etag",
  "location",
  "allow",
  "retry-after",
  "ratelimit",
  "www-authenticate",
  "x-request-id"
]

/** Longer bodies are truncated: rendering them would block the browser. */
const maxBodyLength = 200_000

const format = (text: string, type: string): string => {
  if (!/\bjson\b/.test(type)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** The status line and the rendered headers and body. */
interface RenderedResponse {
  readonly outcome: string
  readonly nodes: ReadonlyArray<Node>
}

export const renderResponse = async (response: Response, started: number): Promise<RenderedResponse> => {
  const { status, statusText, headers } = response
  const text = format(await response.text(), headers.get("content-type") ?? "")
  const milliseconds = Math.round(performance.now() - started)
  const rows = shownHeaders.flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [element("dt", {}, name), element("dd", {}, value)]
  })
  const body = text.length > maxBodyLength ? `${text.slice(0, maxBodyLength)}\n… (${text.length} characters)` : text
  return {
    outcome: `${`${status} ${statusText}`.trim()} in ${milliseconds} ms`,
    nodes: [
      element("dl", {}, ...rows),
      body === "" ? element("p", {}, "No body") : element("pre", { class: "body", tabindex: "0" }, body)
    ]
  }
}
