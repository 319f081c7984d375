/**
 * Responds to requests for the files of a release, with content types, ETags, conditional requests and ranges.
 */
import { constants } from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { Readable } from "node:stream"
import { Option } from "effect"
import { Mime } from "effect/http"
import fresh from "fresh"
import parseRange from "range-parser"
import { findFile, type Manifest, type ServedFile } from "./manifest.ts"
import { filesName } from "./releaseFiles.ts"

const getContentType = (path: string): string => {
  const type = Option.getOrElse(Mime.getType(path), () => "application/octet-stream")
  return /^text\/|^application\/(javascript|json|xml|manifest\+json)|\+xml$/.test(type)
    ? `${type}; charset=utf-8`
    : type
}

/** Decodes a URL path to a path in the manifest. Returns undefined for malformed percent-encoding. */
const parsePath = (path: string): string | undefined => {
  try {
    const decoded = decodeURIComponent(path).slice(1)
    return decoded === "" || decoded.endsWith("/") ? `${decoded}index.html` : decoded
  } catch {
    return undefined
  }
}

/** Has no `content-type`, so Tollgate responds with its own 404 (see `DeploymentTarget.serve`). */
const emptyNotFound = (): Response => new Response(null, { status: 404 })

const getETag = ({ digest }: ServedFile): string => `"${digest}"`

interface ByteRange {
  readonly start: number
  readonly end: number
}

/** Selects the requested range. Returns `whole` for no range or several, and undefined for an unsatisfiable range. */
const selectRange = (request: Request, file: ServedFile): ByteRange | "whole" | undefined => {
  const range = request.headers.get("range")
  const condition = request.headers.get("if-range")
  if (range === null || (condition !== null && condition !== getETag(file))) return "whole"
  const ranges = parseRange(file.size, range)
  if (ranges === -1) return undefined
  const [single] = ranges === -2 || ranges.type !== "bytes" || ranges.length !== 1 ? [] : ranges
  return single ?? "whole"
}

/** Content up to this size is read into memory, so the file is closed before the response starts. */
const inlineLimit = 64 * 1024

const openContent = async (
  path: string,
  { start, end }: ByteRange,
  signal: AbortSignal
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>> => {
  const length = end - start + 1
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  if (length <= inlineLimit) {
    try {
      const content = new Uint8Array(length)
      await file.read(content, 0, length, start)
      return content
    } finally {
      await file.close()
    }
  }
  // Closes the file when the client disconnects, since the body may then never be read.
  const stream = file.createReadStream({ start, end })
  const closeFile = () => void stream.destroy()
  signal.addEventListener("abort", closeFile, { once: true })
  stream.once("close", () => signal.removeEventListener("abort", closeFile))
  if (signal.aborted) closeFile()
  return Readable.toWeb(stream) as ReadableStream<Uint8Array>
}

const makeResponse = async (path: string, name: string, file: ServedFile, status: number, request: Request) => {
  const headers = new Headers({
    "content-type": getContentType(name),
    "accept-ranges": "bytes",
    "cache-control": "no-cache",
    etag: getETag(file)
  })
  const isOk = status === 200
  // Ignores the request's Cache-Control, which is meant for caches between client and server.
  const condition = request.headers.get("if-none-match") ?? undefined
  if (isOk && fresh({ "if-none-match": condition }, { etag: getETag(file) })) {
    return new Response(null, { status: 304, headers })
  }
  const range = isOk ? selectRange(request, file) : "whole"
  if (range === undefined) {
    headers.set("content-range", `bytes */${file.size}`)
    return new Response(null, { status: 416, headers })
  }
  const { start, end } = range === "whole" ? { start: 0, end: file.size - 1 } : range
  headers.set("content-length", String(end - start + 1))
  if (range !== "whole") headers.set("content-range", `bytes ${start}-${end}/${file.size}`)
  const hasNoBody = file.size === 0 || request.method === "HEAD"
  const body = hasNoBody ? null : await openContent(path, { start, end }, request.signal)
  return new Response(body, { status: range === "whole" ? status : 206, headers })
}

/** Responds from the files below the folder. Throws ENOENT if the folder has been removed meanwhile. */
export const serve = async (folder: string, manifest: Manifest, path: string, request: Request): Promise<Response> => {
  const name = parsePath(path)
  if (name === undefined) return emptyNotFound()
  const respond = (name: string, file: ServedFile, status: number) =>
    makeResponse(join(folder, filesName, file.digest), name, file, status, request)
  const file = findFile(manifest, name)
  if (file !== undefined) return respond(name, file, 200)
  if (findFile(manifest, `${name}/index.html`) !== undefined) {
    // Relative, since only the browser knows the path at which the site is mounted.
    const location = `./${path.split("/").at(-1)}/${new URL(request.url).search}`
    return new Response(null, { status: 308, headers: { location } })
  }
  const notFound = findFile(manifest, "404.html")
  return notFound === undefined ? emptyNotFound() : respond("404.html", notFound, 404)
}
