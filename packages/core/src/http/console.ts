/**
 * Serves the console: its page, its files, and the exchange of a link's code for a session token. The files are the same
 * for everyone and need no credential.
 */
import { gunzipSync } from "node:zlib"
import { Effect, Schema } from "effect"
import { Forbidden } from "../access/AccessError.ts"
import { shortBody } from "../api/Owner.ts"
import { rejectUnknown } from "../api/rejectUnknown.ts"
import type { Console, ConsoleFile } from "../console/Console.ts"
import { ConsoleSessions } from "../console/ConsoleSessions.ts"
import { maxGrantLength } from "../console/signedGrant.ts"
import type { TransportRequest, TransportResponse } from "../runtime/Transport.ts"
import { makeDecoder } from "../schema/decodeInput.ts"
import { formatTimestamp } from "../schema/Timestamp.ts"
import { acceptsGzip } from "./acceptsGzip.ts"
import type { RouteHandler } from "./buildRoutes.ts"
import { type Cacheable, makeETag, respondCacheable } from "./cacheable.ts"
import { isCrossSite } from "./crossSite.ts"
import { RequestContext } from "./RequestContext.ts"
import { RouteNotFound } from "./routeErrors.ts"
import { consoleFilesPath, consolePath, consoleSessionPath } from "./routes.ts"

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
const makeFileResponder = ({ contentType, isImmutable, gzip }: ConsoleFile) => {
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

/** The URLs in the page are relative, so it needs the slash. Relative, because only the browser knows the mount path. */
const redirectToPage = (search: string): TransportResponse => ({
  status: 308,
  headers: { location: `console/${search}` },
  body: undefined
})

const SessionRequest = Schema.Struct({
  code: Schema.String.pipe(Schema.check(Schema.isMaxLength(maxGrantLength)))
})
const decodeSessionRequest = makeDecoder(SessionRequest, "body", rejectUnknown)

export const makeConsoleRoutes = Effect.fnUntraced(function* ({ files }: Console) {
  const { exchange } = yield* ConsoleSessions
  const responders = new Map(files.map((file) => [file.path, makeFileResponder(file)]))

  const serveFile = (request: TransportRequest, path: string) => {
    const respond = responders.get(path)
    return respond === undefined ? Effect.fail(new RouteNotFound()) : Effect.sync(() => respond(request))
  }
  const page: RouteHandler = (request) => {
    const [path, search] = splitUrl(request)
    return path.endsWith("/") ? serveFile(request, "") : Effect.succeed(redirectToPage(search))
  }
  const file: RouteHandler = (request, { params }) =>
    splitUrl(request)[0].endsWith("/") ? Effect.fail(new RouteNotFound()) : serveFile(request, params["*"] ?? "")

  const createSession: RouteHandler = Effect.fnUntraced(function* (request) {
    if (isCrossSite(request)) {
      return yield* new Forbidden({ detail: "Cross-site requests are refused. Open the link to the console itself." })
    }
    const { value } = yield* (yield* RequestContext).readBody(shortBody)
    const { code } = yield* decodeSessionRequest(value)
    const { token, expiresOn } = yield* exchange(code)
    const body = JSON.stringify({ token, expiresOn: formatTimestamp(expiresOn) })
    return { status: 200, headers: { "content-type": "application/json" }, body }
  })

  return [
    ["GET", consolePath, page],
    ["GET", consoleFilesPath, file],
    ["POST", consoleSessionPath, createSession]
  ] as const
})
