/**
 * A request and its answer, without the objects of any framework: what each binding brings here, and takes away.
 */

/** What is asked. */
export interface TransportRequest {
  readonly method: string
  /** The path and the query, as they were sent. */
  readonly url: string
  /** Where the interface is mounted, as far as the binding knows: `/api/dev`. */
  readonly basePath?: string
  /** By their names in lower case; what came several times is one text, with commas. */
  readonly headers: Readonly<Record<string, string>>
  /** The body whole, or nothing if it is longer than that. */
  readonly bytes: (limit: number) => Promise<Uint8Array | undefined>
  /** The body as it comes; null where there is none. */
  readonly body: () => ReadableStream<Uint8Array> | null
  /** All of it as a web request. From then on, the body is that request's. */
  readonly toWebRequest: () => Request
  /** Aborted when whoever asked has left. */
  readonly signal: () => AbortSignal
}

/** What is answered. */
export interface TransportResponse {
  readonly status: number
  /** A header that is set several times, as cookies are, has several values. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | undefined
}

/** The body of a web request whole, or nothing if it is longer than that. */
export const readBody = async (
  body: ReadableStream<Uint8Array> | null,
  limit: number
): Promise<Uint8Array | undefined> => {
  if (body === null) return new Uint8Array()
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > limit) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** A web request, as it is asked here. */
export const fromWebRequest = (request: Request): TransportRequest => {
  const { method, url } = request
  const start = url.indexOf("//") + 2
  const path = url.indexOf("/", start)
  // A request that was made by hand has no Host header.
  const authority = url.slice(start, path < 0 ? undefined : path)
  return {
    method,
    url: path < 0 ? "/" : (url.slice(path).split("#", 1)[0] ?? "/"),
    headers: { host: authority, ...Object.fromEntries(request.headers) },
    // Asked for when it is read: whoever clones a request gives it another body.
    bytes: (limit) => readBody(request.body, limit),
    body: () => request.body,
    toWebRequest: () => request,
    signal: () => request.signal
  }
}

/** An answer, as a web response. */
export const toWebResponse = ({ status, headers, body }: TransportResponse): Response => {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, one])
  )
  return new Response(body as ConstructorParameters<typeof Response>[0], { status, headers: pairs })
}

/** A web response, as it is answered here. */
export const fromWebResponse = ({ status, headers, body }: Response): TransportResponse => {
  const cookies = headers.getSetCookie()
  const cookieHeader = cookies.length > 1 ? { "set-cookie": cookies } : {}
  return { status, headers: { ...Object.fromEntries(headers), ...cookieHeader }, body: body ?? undefined }
}
