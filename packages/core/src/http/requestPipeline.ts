/**
 * Handles every HTTP request: assigns the request ID, normalizes the path, finds the route, runs its handler, and turns
 * every failure into a problem response.
 */

import {
  InternalError,
  InvalidInput,
  isTollgateError,
  SecureRandom,
  type TollgateError,
  type TransportRequest,
  type TransportResponse
} from "@tollgate/store/internal"
import { Cause, Context, Effect, type Fiber, References } from "effect"
import { RequestId, resolveRequestId } from "../api/RequestId.ts"
import { ResponseEncodingError, type RouteHandler } from "./buildRoutes.ts"
import { measureRequest } from "./measureRequest.ts"
import { normalizePath } from "./normalizePath.ts"
import { toProblemResponse } from "./problemResponse.ts"
import { type HttpConfig, RequestContext } from "./RequestContext.ts"
import { MethodNotAllowed, RouteNotFound } from "./routeErrors.ts"
import type { HostRoutes, Routes } from "./routes.ts"
import { traceRequest } from "./traceRequest.ts"

const isDecodable = (text: string): boolean => {
  if (!text.includes("%")) return true
  try {
    return !decodeURIComponent(text).includes("\u0000")
  } catch {
    return false
  }
}

interface ParsedUrl {
  readonly path: string
  readonly search: string
}

/** Finds the path or query parameter with invalid percent-encoding, and names it in the error. */
const findUndecodable = (path: string, search: string): InvalidInput | undefined => {
  const invalid = (parameter: string) =>
    new InvalidInput({ errors: [{ parameter, detail: "is not valid percent-encoding, or contains U+0000" }] })
  if (!isDecodable(path)) return invalid("path")
  if (isDecodable(search.replaceAll("+", "%20"))) return undefined
  const pair = search.split("&").find((pair) => !isDecodable(pair.replaceAll("+", "%20"))) ?? ""
  const name = pair.split("=", 1)[0] ?? ""
  return invalid(isDecodable(name) ? decodeURIComponent(name) : "query")
}

/** Splits a URL and normalizes its path. Malformed percent-encoding is rejected with 400 before routing. */
const parseUrl = (url: string): ParsedUrl | InvalidInput => {
  const queryStart = url.indexOf("?")
  const [path, search] = queryStart < 0 ? [url, ""] : [url.slice(0, queryStart), url.slice(queryStart + 1)]
  const undecodable = findUndecodable(path, search)
  if (undecodable !== undefined) return undecodable
  return { path: normalizePath(path), search }
}

/** The path and method of a request, and the methods that the path allows. */
interface RequestTarget {
  readonly path: string
  readonly method: string
  readonly allowedMethods: () => ReadonlyArray<string>
}

const describeMissingRoute = ({ path, method, allowedMethods }: RequestTarget): TollgateError => {
  const allowed = allowedMethods()
  return allowed.length === 0 || allowed.includes(method)
    ? new RouteNotFound({ detail: `Nothing found at ${path}` })
    : new MethodNotAllowed({ detail: `${path} allows ${allowed.join(", ")}, not ${method}` })
}

/** Logs an unexpected error, and never the content of the request. */
const logDefect = Effect.fnUntraced(function* (error: unknown, { path, method }: RequestTarget) {
  yield* error instanceof ResponseEncodingError
    ? Effect.logError(`The response to ${method} ${path} does not match its schema`)
    : Effect.logError(`${method} ${path} failed`, error instanceof Error ? error.stack : "")
  return new InternalError()
})

/** The error to respond with. */
const toTollgateError = (error: unknown, target: RequestTarget) => {
  if (error instanceof RouteNotFound) return Effect.succeed(describeMissingRoute(target))
  return isTollgateError(error) ? Effect.succeed(error) : logDefect(error, target)
}

/**
 * Converts a failure to a response. An interruption (the client disconnected) passes through; `Http.ts` maps it to 499.
 */
const causeToResponse = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>, target: RequestTarget) {
  if (Cause.hasInterruptsOnly(cause)) return yield* Effect.interrupt
  const [failure] = cause.reasons.filter(Cause.isFailReason)
  // An error that is thrown, for example in `authenticate`, is not meant for the client.
  const error =
    failure === undefined
      ? yield* logDefect(Cause.squash(cause), target)
      : yield* toTollgateError(failure.error, target)
  const response = yield* toProblemResponse(error)
  return response.status === 405
    ? { ...response, headers: { ...response.headers, allow: target.allowedMethods().join(", ") } }
    : response
})

/** Adds the headers of every response. Responses may contain key values: the default is `Cache-Control: no-store`. */
const withStandardHeaders = ({ status, headers, body }: TransportResponse, id: string): TransportResponse => ({
  status,
  headers: {
    "cache-control": "no-store",
    ...headers,
    "x-request-id": id,
    "x-content-type-options": "nosniff",
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
    ...(status === 503 ? { "retry-after": "1" } : {}),
    ...(typeof body === "string" ? { "content-length": String(Buffer.byteLength(body)) } : {}),
    ...(body instanceof Uint8Array ? { "content-length": String(body.byteLength) } : {})
  },
  body
})

/** The response to HEAD: same as GET, without the body. */
const withoutBody = ({ status, headers, body }: TransportResponse): TransportResponse => {
  // Ignored: the stream may have failed already, and its content is not needed.
  if (body instanceof ReadableStream) body.cancel().catch(() => undefined)
  return { status, headers, body: undefined }
}

interface MatchedRequest {
  /** `undefined` if nothing is found at the path. */
  readonly route: string | undefined
  readonly handle: () => ReturnType<RouteHandler>
}

const unmatched: MatchedRequest = { route: undefined, handle: () => Effect.fail(new RouteNotFound()) }

/** Starts a fiber that handles a request. It never fails: errors become problem responses. */
export type StartRequest = (
  request: TransportRequest,
  context: Context.Context<never>
) => Fiber.Fiber<TransportResponse>

export const makeStartRequest = (
  routes: Routes,
  hosts: ReadonlyArray<HostRoutes>,
  config: HttpConfig
): StartRequest => {
  const findHost = ({ headers }: TransportRequest): HostRoutes | undefined =>
    hosts.find(({ matches }) => matches(headers["host"] ?? ""))

  const getAllowedMethods = (request: TransportRequest, path: string): ReadonlyArray<string> =>
    findHost(request)?.allowedMethods(request.headers["host"] ?? "", path) ?? routes.allowedMethods(path)

  /** The HTTP API is not reachable on such a host. */
  const matchOnHost = (request: TransportRequest, path: string, host: HostRoutes): MatchedRequest => {
    const route = routes.declaredAt(host.path)
    return route === undefined || !getAllowedMethods(request, path).includes(request.method)
      ? unmatched
      : { route: route.name, handle: () => route.handler(request, { params: {}, query: {} }) }
  }

  const matchRequest = (request: TransportRequest, { path, search }: ParsedUrl): MatchedRequest => {
    const host = findHost(request)
    if (host !== undefined) return matchOnHost(request, path, host)
    const found = routes.find(request.method, path, search)
    return found === undefined ? unmatched : { route: found.name, handle: () => found.handler(request, found) }
  }

  return (request, context) => {
    const { method, headers } = request
    const id = resolveRequestId(headers["x-request-id"], Context.get(context, SecureRandom))
    const url = parseUrl(request.pathAndQuery)
    const isInvalid = url instanceof InvalidInput
    const { path, search } = isInvalid ? { path: request.pathAndQuery.split("?", 1)[0] ?? "", search: "" } : url
    const { route, handle } = isInvalid ? { ...unmatched, handle: () => Effect.fail(url) } : matchRequest(request, url)
    const response = Effect.suspend<TransportResponse, unknown, RequestContext>(handle).pipe(
      Effect.catchCause((cause) =>
        causeToResponse(cause, { path, method, allowedMethods: () => getAllowedMethods(request, path) })
      ),
      Effect.map((response) =>
        method === "HEAD" ? withoutBody(withStandardHeaders(response, id)) : withStandardHeaders(response, id)
      ),
      traceRequest({ method, route, path, headers }),
      measureRequest({ method, route })
    )
    // The fiber starts in its context, which is faster than to change the context of a fiber.
    const requestContext = context.pipe(
      Context.add(RequestContext, RequestContext.from(request, path, search, config)),
      Context.add(RequestId, id),
      Context.add(References.CurrentLogAnnotations, {
        ...Context.get(context, References.CurrentLogAnnotations),
        requestId: id
      })
    )
    return Effect.runForkWith(requestContext)(response)
  }
}
