/**
 * What surrounds every request: its id, its path in one form, its body as safe JSON, and a problem for whatever goes
 * wrong. Nothing leaves here that is not a declared answer or a problem.
 */
import { Cause, Context, Effect, Option, References } from "effect"
import { FindMyWay, Headers, HttpServerRespondable, HttpTraceContext } from "effect/http"
import { Entropy } from "../shared/Entropy.ts"
import { InvalidInput } from "../shared/InvalidInput.ts"
import { spanned } from "../shared/spanned.ts"
import { type Endpoint, UnfitAnswer } from "./compile.ts"
import type { Answer, Asked } from "./Exchange.ts"
import { Incoming, type InterfaceSettings } from "./Incoming.ts"
import { answerOf, BadRequestProblem, InternalProblem, MethodNotAllowedProblem, NotFoundProblem } from "./problems.ts"
import { RequestId, requestIdFor } from "./RequestId.ts"
import { methodsOnSitesHost, type Routes, sitesPath } from "./routes.ts"

const decodes = (text: string): boolean => {
  if (!text.includes("%")) return true
  try {
    return !decodeURIComponent(text).includes("\u0000")
  } catch {
    return false
  }
}

interface Address {
  readonly path: string
  readonly search: string
}

/** What cannot be decoded, by its name: a parameter of the query, or the path. */
const undecodableIn = (path: string, search: string): InvalidInput | undefined => {
  const wrong = (parameter: string) =>
    new InvalidInput({ errors: [{ parameter, detail: "it is not percent-encoded text, or has U+0000 in it" }] })
  if (!decodes(path)) return wrong("path")
  if (decodes(search.replaceAll("+", "%20"))) return undefined
  const pair = search.split("&").find((pair) => !decodes(pair.replaceAll("+", "%20"))) ?? ""
  const name = pair.split("=", 1)[0] ?? ""
  return wrong(decodes(name) ? decodeURIComponent(name) : "query")
}

/** A trailing slash and `%24` mean nothing; what cannot be decoded is nobody's path. */
const addressIn = (url: string): Address | InvalidInput => {
  const mark = url.indexOf("?")
  const [path, search] = mark < 0 ? [url, ""] : [url.slice(0, mark), url.slice(mark + 1)]
  const undecodable = undecodableIn(path, search)
  if (undecodable !== undefined) return undecodable
  const single = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
  // The router would end a path at a semicolon.
  return { path: single.replaceAll("%24", "$").replaceAll(";", "%3B"), search }
}

/** No such path, or not with that method. */
class Nowhere {
  readonly _tag = "Nowhere"
}

/** What a request was for, and which methods there are at its path. */
interface Place {
  readonly path: string
  readonly method: string
  readonly methods: () => ReadonlyArray<string>
}

/** What went wrong, as a problem. Only what is our own fault is logged, and never with what was sent. */
const describe = Effect.fnUntraced(function* (error: unknown, { path, method, methods }: Place) {
  const instance = yield* RequestId
  if (error instanceof InvalidInput) {
    return new BadRequestProblem({ detail: error.message, instance, errors: error.errors })
  }
  if (HttpServerRespondable.isRespondable(error)) return error
  if (error instanceof Nowhere) {
    const allowed = methods()
    return allowed.length === 0 || allowed.includes(method)
      ? new NotFoundProblem({ detail: `There is nothing at ${path}`, instance })
      : new MethodNotAllowedProblem({
          detail: `${path} can be asked with ${allowed.join(", ")}, not ${method}`,
          instance
        })
  }
  yield* error instanceof UnfitAnswer
    ? Effect.logError(`The answer to ${method} ${path} does not fit its schema`)
    : Effect.logError(`${method} ${path} failed`, error instanceof Error ? error.stack : "")
  return new InternalProblem({ detail: "It is logged under this instance", instance })
})

const problemFor = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>, place: Place) {
  if (Cause.hasInterruptsOnly(cause)) return yield* Effect.interrupt
  const answer = yield* answerOf(yield* describe(Cause.squash(cause), place))
  return answer.status === 405
    ? { ...answer, headers: { ...answer.headers, allow: place.methods().join(", ") } }
    : answer
})

/** Completes an answer. It may hold key values, so nobody keeps it. */
const finished = ({ status, headers, body }: Answer, id: string): Answer => ({
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
const headOf = ({ status, headers, body }: Answer): Answer => {
  // It may have failed already, which is nobody's concern.
  if (body instanceof ReadableStream) body.cancel().catch(() => undefined)
  return { status, headers, body: undefined }
}

/** Names the request, brings its path into one form, finds its endpoint, and answers whatever comes of it. */
export const makeEdge = (
  endpoints: ReadonlyArray<readonly [method: string, path: string, endpoint: Endpoint]>,
  routes: Routes,
  settings: InterfaceSettings
): ((asked: Asked) => Effect.Effect<Answer>) => {
  const router = FindMyWay.make<Endpoint>({
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

  const siteAt = ({ headers }: Asked) => settings.sites?.siteAt(headers["host"] ?? "")

  const methodsAt = (asked: Asked, path: string): ReadonlyArray<string> => {
    const site = siteAt(asked)
    return site === undefined ? routes.methodsOf(path) : methodsOnSitesHost(site, path)
  }

  /** On a host of sites there is nothing else, whatever the path. */
  const answerSite = (asked: Asked, path: string) =>
    sites === undefined || !methodsAt(asked, path).includes(asked.method)
      ? Effect.fail(new Nowhere())
      : sites(asked, { params: {}, query: {} })

  const answer = (asked: Asked, { path, search }: Address) => {
    if (siteAt(asked) !== undefined) return answerSite(asked, path)
    // The router decodes the fixed parts of a path too; a host's own guard in front of us does not.
    if (path.includes("%") && !routes.isPath(path)) return Effect.fail(new Nowhere())
    const found = find(asked.method, search === "" ? path : `${path}?${search}`)
    return found === undefined
      ? Effect.fail(new Nowhere())
      : found.handler(asked, { params: found.params, query: found.searchParams })
  }

  return (asked) =>
    Effect.flatMap(Entropy, (entropy) => {
      const { method, headers } = asked
      const id = requestIdFor(headers["x-request-id"], entropy)
      const address = addressIn(asked.url)
      const isWrong = address instanceof InvalidInput
      const { path, search } = isWrong ? { path: asked.url.split("?", 1)[0] ?? "", search: "" } : address
      const answered = isWrong ? Effect.fail(address) : Effect.suspend(() => answer(asked, address))
      return answered.pipe(
        Effect.catchCause((cause) => problemFor(cause, { path, method, methods: () => methodsAt(asked, path) })),
        Effect.map((answer) => (method === "HEAD" ? headOf(finished(answer, id)) : finished(answer, id))),
        spanned(`http.server ${method}`, () => ({
          kind: "server",
          parent: Option.getOrUndefined(HttpTraceContext.fromHeaders(Headers.fromInput(headers))),
          attributes: { "http.request.method": method, "url.path": path }
        })),
        Effect.updateContext((context: Context.Context<never>) =>
          context.pipe(
            Context.add(Incoming, Incoming.from(asked, path, search, settings)),
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
