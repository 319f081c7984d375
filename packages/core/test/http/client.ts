/**
 * A minimal client that calls the web handler directly.
 */
import { tokens } from "../stores.ts"

// biome-ignore lint/suspicious/noExplicitAny: tests read JSON of any shape
type Json = any

interface TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

export interface Call {
  readonly body?: unknown
  readonly raw?: string | Uint8Array | ReadableStream<Uint8Array>
  readonly headers?: Record<string, string>
  readonly token?: string | null
}

export type Client = (method: string, path: string, call?: Call) => Promise<TestResponse>

export const makeClient =
  (handler: (request: Request) => Promise<Response>, prefix = ""): Client =>
  async (method, path, { body, raw, headers = {}, token = tokens.writer } = {}) => {
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await handler(
      new Request(`http://gate${prefix}${path}`, {
        method,
        headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
        ...(content === undefined ? {} : { body: content }),
        ...(content instanceof ReadableStream ? { duplex: "half" } : {})
      } as RequestInit)
    )
    const text = await response.text()
    const isJson = text !== "" && response.headers.get("content-type")?.includes("json") === true
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

let count = 0
/** The path of a key bucket that no other test uses. */
export const freshBucket = (): string => `/v1/accounts/acme/key-buckets/bucket-${++count}`
