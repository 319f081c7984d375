/**
 * Serves the page and the files of an app. They are the same for everyone and need no credential.
 */
import { gunzipSync } from "node:zlib"
import type { TransportRequest, TransportResponse } from "@tollgate/store/internal"
import { Effect } from "effect"
import { acceptsGzip } from "../http/acceptsGzip.ts"
import type { RouteHandler } from "../http/buildRoutes.ts"
import { type Cacheable, makeETag, respondCacheable } from "../http/cacheable.ts"
import { RouteNotFound } from "../http/routeErrors.ts"
import type { ServedRoute } from "../http/routes.ts"
import type { AppFile } from "./AppFile.ts"

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

/** Over http, except on localhost, browsers ignore Cross-Origin-Opener-Policy and log an error. */
const securityHeaders = {
  "content-security-policy": contentSecurityPolicy,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin"
}

/** Responds with a file, compressed if the client accepts that. Otherwise unzips it once, at the first such request. */
const makeFileResponder = ({ contentType, isImmutable, gzip }: AppFile) => {
  const content = Buffer.from(gzip).toString("base64")
  const headers = {
    ...securityHeaders,
    "content-type": contentType,
    vary: "Accept-Encoding",
    ...(isImmutable ? { "cache-control": "public, max-age=31536000, immutable" } : {})
  }
  const compressed: Cacheable = {
    etag: makeETag("gzip", content),
    headers: { ...headers, "content-encoding": "gzip" },
    body: gzip
  }
  let uncompressed: Cacheable | undefined
  return (request: TransportRequest): TransportResponse => {
    if (acceptsGzip(request.headers["accept-encoding"])) return respondCacheable(request, compressed)
    uncompressed ??= { etag: makeETag("identity", content), headers, body: gunzipSync(gzip) }
    return respondCacheable(request, uncompressed)
  }
}

/** The path and the query as the client sent them: the router has removed a trailing slash. */
const splitUrl = ({ pathAndQuery }: TransportRequest): readonly [path: string, search: string] => {
  const queryStart = pathAndQuery.indexOf("?")
  return queryStart < 0 ? [pathAndQuery, ""] : [pathAndQuery.slice(0, queryStart), pathAndQuery.slice(queryStart)]
}

/** Serves the page at `/name/` and the other files below it, except at a path that is reserved for another route. */
export const makeAppRoutes = (
  name: string,
  files: ReadonlyArray<AppFile>,
  reserved?: string
): ReadonlyArray<ServedRoute> => {
  const responders = new Map(files.map((file) => [file.path, makeFileResponder(file)]))
  const serveFile = (request: TransportRequest, path: string) => {
    const respond = responders.get(path)
    return respond === undefined ? Effect.fail(new RouteNotFound()) : Effect.sync(() => respond(request))
  }
  // The URLs in the page are relative, so it needs the slash. Relative, because only the browser knows the mount path.
  const redirectToPage = (search: string): TransportResponse => ({
    status: 308,
    headers: { location: `${name}/${search}` },
    body: undefined
  })
  const page: RouteHandler = (request) => {
    const [path, search] = splitUrl(request)
    return path.endsWith("/") ? serveFile(request, "") : Effect.succeed(redirectToPage(search))
  }
  const file: RouteHandler = (request, { params }) =>
    splitUrl(request)[0].endsWith("/") ? Effect.fail(new RouteNotFound()) : serveFile(request, params["*"] ?? "")
  const except = reserved === undefined ? "" : `(?!${reserved}$)`
  return [
    { method: "GET", path: `/${name}`, handler: page },
    { method: "GET", path: `/${name}/*`, pattern: `/${name}/${except}[\\w./-]+`, handler: file }
  ]
}
