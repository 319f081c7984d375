/**
 * A minimal client that calls the web handler directly, and compares every response with that of Effect's own builder.
 */
import { expect } from "@effect/vitest"
import { tokens } from "../stores.ts"
import { compareWithEffect } from "./differential.ts"

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
    if (typeof content !== "object") {
      const exchange = { method, path, headers, requestBody: content ?? "", status: response.status }
      const difference = await compareWithEffect({ ...exchange, responseHeaders: response.headers, responseBody: text })
      expect(difference).toBeUndefined()
    }
    const isJson = text !== "" && response.headers.get("content-type")?.includes("json") === true
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

let count = 0
/** The path of a key bucket that no other test uses. */
export const freshBucket = (): string => `/v1/accounts/acme/key-buckets/bucket-${++count}`
