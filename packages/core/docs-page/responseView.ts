/**
 * Shows a response: its status, the headers that matter, and its body.
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

/** More than this would keep the browser busy, and nobody reads it. */
const longestBody = 200_000

const format = (text: string, type: string): string => {
  if (!/\bjson\b/.test(type)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** What is said of a response at once, and what is shown of it below. */
export interface ShownResponse {
  readonly outcome: string
  readonly nodes: ReadonlyArray<Node>
}

export const showResponse = async (response: Response, started: number): Promise<ShownResponse> => {
  const { status, statusText, headers } = response
  const text = format(await response.text(), headers.get("content-type") ?? "")
  const milliseconds = Math.round(performance.now() - started)
  const rows = shownHeaders.flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [element("dt", {}, name), element("dd", {}, value)]
  })
  const body = text.length > longestBody ? `${text.slice(0, longestBody)}\n… (${text.length} characters)` : text
  return {
    outcome: `${`${status} ${statusText}`.trim()} in ${milliseconds} ms`,
    nodes: [
      element("dl", {}, ...rows),
      body === "" ? element("p", {}, "No body") : element("pre", { class: "body", tabindex: "0" }, body)
    ]
  }
}
