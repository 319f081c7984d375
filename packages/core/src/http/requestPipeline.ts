/**
 * What surrounds every request: its id, its path in one form, its body as safe JSON, and a problem for whatever goes
 * wrong. Nothing leaves here that is not a declared answer or a problem.
 */
import { Cause, Context, Effect, Option, References } from "effect"
import { FindMyWay, Headers, HttpServerRespondable, HttpTraceContext } from "effect/http"
import { BadRequestProblem, InternalProblem, MethodNotAllowedProblem, NotFoundProblem } from "../api/problems.ts"
import { SecureRandom } from "../crypto/SecureRandom.ts"
import type { TransportRequest, TransportResponse } from "../runtime/Transport.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import { InvalidInput } from "../schema/InvalidInput.ts"
import { ResponseEncodingError, type RouteHandler } from "./compile.ts"
import { type HttpConfig, RequestContext } from "./RequestContext.ts"
import { RequestId, requestIdFor } from "./RequestId.ts"
import { methodsOnSitesHost, type Routes, sitesPath } from "./routes.ts"
import { problemToResponse } from "./toProblems.ts"

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

/** What cannot be decoded, by its name: a parameter of the query, or the path. */
const findUndecodable = (path: string, search: string): InvalidInput | undefined => {
  const wrong = (parameter: string) =>
    new InvalidInput({ errors: [{ parameter, detail: "it is not percent-encoded text, or has U+0000 in it" }] })
  if (!isDecodable(path)) return wrong("path")
  if (isDecodable(search.replaceAll("+", "%20"))) return undefined
  const pair = search.split("&").find((pair) => !isDecodable(pair.replaceAll("+", "%20"))) ?? ""
  const name = pair.split("=", 1)[0] ?? ""
  return wrong(isDecodable(name) ? decodeURIComponent(name) : "query")
}

/** A trailing slash and `%24` mean nothing; what cannot be decoded is nobody's path. */
const parseUrl = (url: string): ParsedUrl | InvalidInput => {
  const mark = url.indexOf("?")
  const [path, search] = mark < 0 ? [url, ""] : [url.slice(0, mark), url.slice(mark + 1)]
  const undecodable = findUndecodable(path, search)
  if (undecodable !== undefined) return undecodable
  const single = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
  // The router would end a path at a semicolon.
  return { path: single.replaceAll("%24", "$").replaceAll(";", "%3B"), search }
}

/** No such path, or not with that method. */
class RouteNotFound {
  readonly _tag = "Nowhere"
}

/** What a request was for, and which methods there are at its path. */
interface Place {
  readonly path: string
  readonly method: string
  readonly methods: () => ReadonlyArray<string>
}

/** What went wrong, as a problem. Only what is our own fault is logged, and never with what was sent. */
const toProblem = Effect.fnUntraced(function* (error: unknown, { path, method, methods }: Place) {
  const instance = yield* RequestId
  if (error instanceof InvalidInput) {
    return new BadRequestProblem({ detail: error.message, instance, errors: error.errors })
  }
  if (HttpServerRespondable.isRespondable(error)) return error
  if (error instanceof RouteNotFound) {
    const allowed = methods()
    return allowed.length === 0 || allowed.includes(method)
      ? new NotFoundProblem({ detail: `There is nothing at ${path}`, instance })
      : new MethodNotAllowedProblem({
          detail: `${path} can be asked with ${allowed.join(", ")}, not ${method}`,
          instance
        })
  }
  yield* error instanceof ResponseEncodingError
    ? Effect.logError(`The answer to ${method} ${path} does not fit its schema`)
    : Effect.logError(`${method} ${path} failed`, error instanceof Error ? error.stack : "")
  return new InternalProblem({ detail: "It is logged under this instance", instance })
})

const causeToResponse = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>, place: Place) {
  if (Cause.hasInterruptsOnly(cause)) return yield* Effect.interrupt
  const answer = yield* problemToResponse(yield* toProblem(Cause.squash(cause), place))
  return answer.status === 405
    ? { ...answer, headers: { ...answer.headers, allow: place.methods().join(", ") } }
    : answer
})

/** Completes an answer. It may hold key values, so nobody keeps it. */
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

/** What HEAD is answered: as much as GET, but for the body. */
const withoutBody = ({ status, headers, body }: TransportResponse): TransportResponse => {
  // It may have failed already, which is nobody's concern.
  if (body instanceof ReadableStream) body.cancel().catch(() => undefined)
  return { status, headers, body: undefined }
}

/** Names the request, brings its path into one form, finds its endpoint, and answers whatever comes of it. */
export const makeRequestHandler = (
  endpoints: ReadonlyArray<readonly [method: string, path: string, endpoint: RouteHandler]>,
  routes: Routes,
  settings: HttpConfig
): ((asked: TransportRequest) => Effect.Effect<TransportResponse>) => {
  const router = FindMyWay.make<RouteHandler>({
    // Longer than any name that could be right: what is too long is told so by its schema.
    maxParamLength: 4_096,
    caseSensitive: true,
    ignoreDuplicateSlashes: false,
    ignoreTrailingSlash: false
  })
  const sites = endpoints.find(([, path]) => path === sitesPath)?.[2]
  for (const [method, path, endpoint] of endpoints) router.on(method, path as `/${string}`, endpoint)

  const find = (method: string, url: string) =>
    router.find(method, url) ?? (method === "HEAD" ? router.find("GET", url) : undefined)

  const siteAt = ({ headers }: TransportRequest) => settings.sites?.siteAt(headers["host"] ?? "")

  const methodsAt = (asked: TransportRequest, path: string): ReadonlyArray<string> => {
    const site = siteAt(asked)
    return site === undefined ? routes.allowedMethods(path) : methodsOnSitesHost(site, path)
  }

  /** On a host of sites there is nothing else, whatever the path. */
  const answerSite = (asked: TransportRequest, path: string) =>
    sites === undefined || !methodsAt(asked, path).includes(asked.method)
      ? Effect.fail(new RouteNotFound())
      : sites(asked, { params: {}, query: {} })

  const answer = (asked: TransportRequest, { path, search }: ParsedUrl) => {
    if (siteAt(asked) !== undefined) return answerSite(asked, path)
    // The router decodes the fixed parts of a path too; a host's own guard in front of us does not.
    if (path.includes("%") && !routes.matchesRoute(path)) return Effect.fail(new RouteNotFound())
    const found = find(asked.method, search === "" ? path : `${path}?${search}`)
    return found === undefined
      ? Effect.fail(new RouteNotFound())
      : found.handler(asked, { params: found.params, query: found.searchParams })
  }

  return (asked) =>
    Effect.flatMap(SecureRandom, (entropy) => {
      const { method, headers } = asked
      const id = requestIdFor(headers["x-request-id"], entropy)
      const address = parseUrl(asked.url)
      const isWrong = address instanceof InvalidInput
      const { path, search } = isWrong ? { path: asked.url.split("?", 1)[0] ?? "", search: "" } : address
      const answered = isWrong ? Effect.fail(address) : Effect.suspend(() => answer(asked, address))
      return answered.pipe(
        Effect.catchCause((cause) => causeToResponse(cause, { path, method, methods: () => methodsAt(asked, path) })),
        Effect.map((answer) =>
          method === "HEAD" ? withoutBody(withStandardHeaders(answer, id)) : withStandardHeaders(answer, id)
        ),
        withSafeSpan(`http.server ${method}`, () => ({
          kind: "server",
          parent: Option.getOrUndefined(HttpTraceContext.fromHeaders(Headers.fromInput(headers))),
          attributes: { "http.request.method": method, "url.path": path }
        })),
        Effect.updateContext((context: Context.Context<never>) =>
          context.pipe(
            Context.add(RequestContext, RequestContext.from(asked, path, search, settings)),
            Context.add(RequestId, id),
            Context.add(References.CurrentLogAnnotations, {
              ...Context.get(context, References.CurrentLogAnnotations),
              requestId: id
            })
          )
        )
      )
    })
}
