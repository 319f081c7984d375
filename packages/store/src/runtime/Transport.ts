/**
 * HTTP requests and responses, independent of any framework. Each framework binding converts to and from these types.
 */

export interface TransportRequest {
  readonly method: string
  /** The path and the query, still percent-encoded. */
  readonly pathAndQuery: string
  /** The path that the HTTP API is mounted at, such as `/api/dev`, if the binding knows it. */
  readonly basePath?: string
  /** What the binding passes to `authenticate`, usually the framework's own request. */
  readonly context?: unknown
  /** Names are in lower case. Repeated headers are joined with commas. */
  readonly headers: Readonly<Record<string, string>>
  /** Reads the whole body; resolves to `undefined` if it is longer than `maxBytes`. */
  readonly readBytes: (maxBytes: number) => Promise<Uint8Array | undefined>
  /** The body as a stream; `null` if there is none. */
  readonly body: () => ReadableStream<Uint8Array> | null
  /** Converts to a web `Request`, which then owns the body. */
  readonly toWebRequest: () => Request
  /** Aborts when the client disconnects. */
  readonly signal: () => AbortSignal
}

/** A response before it is written to a Node response or a web response. */
export interface TransportResponse {
  readonly status: number
  /** A header that occurs several times, such as `set-cookie`, has an array of values. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | undefined
}

/** Reads a whole stream; resolves to `undefined` if it is longer than `maxBytes`. */
export const readBody = async (
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number
): Promise<Uint8Array | undefined> => {
  if (body === null) return new Uint8Array()
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export const fromWebRequest = (request: Request, context?: unknown): TransportRequest => {
  const { method, url } = request
  const hostStart = url.indexOf("//") + 2
  const pathStart = url.indexOf("/", hostStart)
  // A request from `new Request(url)` has no Host header.
  const host = url.slice(hostStart, pathStart < 0 ? undefined : pathStart)
  return {
    method,
    pathAndQuery: pathStart < 0 ? "/" : (url.slice(pathStart).split("#", 1)[0] ?? "/"),
    headers: { host, ...Object.fromEntries(request.headers) },
    context,
    // Read lazily: `authenticate` may clone the request, which replaces its body.
    readBytes: (maxBytes) => readBody(request.body, maxBytes),
    body: () => request.body,
    toWebRequest: () => request,
    signal: () => request.signal
  }
}

export const toWebResponse = ({ status, headers, body }: TransportResponse): Response => {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((single): [string, string] => [name, single])
  )
  return new Response(body as ConstructorParameters<typeof Response>[0], { status, headers: pairs })
}

/** Converts a web response, whose body may be a stream. */
export const fromWebResponse = ({ status, headers, body }: Response): TransportResponse => {
  const cookies = headers.getSetCookie()
  const cookieHeader = cookies.length > 1 ? { "set-cookie": cookies } : {}
  return { status, headers: { ...Object.fromEntries(headers), ...cookieHeader }, body: body ?? undefined }
}
