/**
 * Answers a request for a file of a release: its type, its tag, a part of it, or that it has not changed.
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

const getContentType = (path: string): string => {
  const type = Option.getOrElse(Mime.getType(path), () => "application/octet-stream")
  return /^text\/|^application\/(javascript|json|xml|manifest\+json)|\+xml$/.test(type)
    ? `${type}; charset=utf-8`
    : type
}

/** The file's path in the manifest; nothing if the path cannot be one. */
const parsePath = (path: string): string | undefined => {
  try {
    const decoded = decodeURIComponent(path).slice(1)
    return decoded === "" || decoded.endsWith("/") ? `${decoded}index.html` : decoded
  } catch {
    return undefined
  }
}

const notFoundBody = (): Response => new Response(null, { status: 404 })

const getETag = ({ digest }: ServedFile): string => `"${digest}"`

interface Part {
  readonly start: number
  readonly end: number
}

/** The one part that is asked for; the whole where none is, or several are; nothing if it lies beyond the end. */
const selectRange = (request: Request, file: ServedFile): Part | "whole" | undefined => {
  const range = request.headers.get("range")
  const condition = request.headers.get("if-range")
  if (range === null || (condition !== null && condition !== getETag(file))) return "whole"
  const parts = parseRange(file.size, range)
  if (parts === -1) return undefined
  const [part] = parts === -2 || parts.type !== "bytes" || parts.length !== 1 ? [] : parts
  return part ?? "whole"
}

/** What is no larger is read at once: the file is closed before the answer begins. */
const inlineLimit = 64 * 1024

const openContent = async (
  path: string,
  { start, end }: Part,
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
  // Whoever asked may be gone already, and nobody may ever read the answer.
  const stream = file.createReadStream({ start, end })
  const leave = () => void stream.destroy()
  signal.addEventListener("abort", leave, { once: true })
  stream.once("close", () => signal.removeEventListener("abort", leave))
  if (signal.aborted) leave()
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
  // Without the request's Cache-Control, which is for caches on the way: whoever names a tag asks whether it still holds.
  const condition = request.headers.get("if-none-match") ?? undefined
  if (isOk && fresh({ "if-none-match": condition }, { etag: getETag(file) })) {
    return new Response(null, { status: 304, headers })
  }
  const part = isOk ? selectRange(request, file) : "whole"
  if (part === undefined) {
    headers.set("content-range", `bytes */${file.size}`)
    return new Response(null, { status: 416, headers })
  }
  const { start, end } = part === "whole" ? { start: 0, end: file.size - 1 } : part
  headers.set("content-length", String(end - start + 1))
  if (part !== "whole") headers.set("content-range", `bytes ${start}-${end}/${file.size}`)
  const isEmpty = file.size === 0 || request.method === "HEAD"
  const body = isEmpty ? null : await openContent(path, { start, end }, request.signal)
  return new Response(body, { status: part === "whole" ? status : 206, headers })
}

/** Answers from the files below the folder. Fails with ENOENT if the folder has gone in the meantime. */
export const serve = async (folder: string, manifest: Manifest, path: string, request: Request): Promise<Response> => {
  const name = parsePath(path)
  if (name === undefined) return notFoundBody()
  const respond = (name: string, file: ServedFile, status: number) =>
    makeResponse(join(folder, manifest.root, name), name, file, status, request)
  const file = findFile(manifest, name)
  if (file !== undefined) return respond(name, file, 200)
  if (findFile(manifest, `${name}/index.html`) !== undefined) {
    // Relative, since only the browser knows where the site is mounted.
    const location = `./${path.split("/").at(-1)}/${new URL(request.url).search}`
    return new Response(null, { status: 308, headers: { location } })
  }
  const notFound = findFile(manifest, "404.html")
  return notFound === undefined ? notFoundBody() : respond("404.html", notFound, 404)
}
