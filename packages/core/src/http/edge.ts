/**
 * What surrounds every request: its id, its path in one form, its body as safe JSON, and a problem for whatever goes
 * wrong. Nothing leaves here that is not a declared answer or a problem.
 */
import { Cause, Effect } from "effect"
import {
  Headers,
  HttpRouter,
  HttpServerError,
  HttpServerRequest,
  HttpServerRespondable,
  HttpServerResponse
} from "effect/http"
import { HttpApiError } from "effect/http-api"
import * as Base62 from "../shared/Base62.ts"
import { InvalidInput, placesInBody, placesInParameters } from "../shared/InvalidInput.ts"
import { jsonText } from "./body.ts"
import {
  BadRequestProblem,
  InternalProblem,
  MethodNotAllowedProblem,
  NotFoundProblem,
  PayloadTooLargeProblem,
  RequestTimeoutProblem,
  UnsupportedEncodingProblem
} from "./problems.ts"
import { isSane, RequestId } from "./RequestId.ts"

/** Which methods a path can be asked with. */
export type MethodsOf = (path: string) => ReadonlyArray<string>

const undecodable = new InvalidInput({
  errors: [{ parameter: "path", detail: "it is not validly percent-encoded text" }]
})

const decodes = (text: string): boolean => {
  try {
    return !decodeURIComponent(text).includes("\u0000")
  } catch {
    return false
  }
}

/** A trailing slash and `%24` mean nothing; what cannot be decoded is nobody's path. */
const normalized = (url: string): string | undefined => {
  const [path = "", ...search] = url.split("?")
  const query = search.join("?").replaceAll("+", "%20")
  if (!decodes(path) || !decodes(query)) return undefined
  const single = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
  // The router would end a path at a semicolon.
  return single.replaceAll("%24", "$").replaceAll(";", "%3B") + (search.length === 0 ? "" : `?${search.join("?")}`)
}

/** The same request with its body read once, checked, and taken for JSON. */
const withSafeBody = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, limit: number) {
  const source = request.source
  if (!(source instanceof Request)) return request
  // It fails with what `describe` knows; the router turns failures of reading into defects.
  const text = yield* Effect.cached(jsonText(source, limit))
  const headers = Headers.set(request.headers, "content-type", "application/json")
  return Object.create(request.modify({ headers }), { text: { value: text } }) as HttpServerRequest.HttpServerRequest
})

/** What went wrong, as a problem. Only what is our own fault is logged, and never with what was sent. */
const describe = Effect.fnUntraced(function* (
  cause: Cause.Cause<unknown>,
  path: string,
  method: string,
  allowed: ReadonlyArray<string>
) {
  const instance = yield* RequestId
  const error = Cause.squash(cause)
  if (error instanceof InvalidInput)
    return new BadRequestProblem({ detail: error.message, instance, errors: error.errors })
  if (error instanceof PayloadTooLargeProblem) return new PayloadTooLargeProblem({ detail: error.message, instance })
  if (error instanceof RequestTimeoutProblem) return new RequestTimeoutProblem({ detail: error.message, instance })
  if (error instanceof UnsupportedEncodingProblem) {
    return new UnsupportedEncodingProblem({ detail: error.message, instance })
  }
  if (HttpApiError.HttpApiSchemaError.is(error) && error.kind !== "Body" && error.kind !== "ResponseHeaders") {
    const errors = error.kind === "Payload" ? placesInBody(error.cause) : placesInParameters(error.cause)
    return new BadRequestProblem({ detail: new InvalidInput({ errors }).message, instance, errors })
  }
  if (error instanceof HttpServerError.HttpServerError && error.reason._tag === "RouteNotFound") {
    return allowed.length === 0 || allowed.includes(method)
      ? new NotFoundProblem({ detail: `There is nothing at ${path}`, instance })
      : new MethodNotAllowedProblem({
          detail: `${path} can be asked with ${allowed.join(", ")}, not ${method}`,
          instance
        })
  }
  yield* HttpApiError.HttpApiSchemaError.is(error)
    ? Effect.logError(`The answer to ${method} ${path} does not fit its schema`)
    : Effect.logError(`${method} ${path} failed`, error instanceof Error ? error.stack : "")
  return new InternalProblem({ detail: "It is logged under this instance", instance })
})

const problemFor = Effect.fnUntraced(function* (
  cause: Cause.Cause<unknown>,
  { url, method }: HttpServerRequest.HttpServerRequest,
  methodsOf: MethodsOf
) {
  const path = url.split("?", 1)[0] ?? url
  const allowed = methodsOf(path)
  const problem = yield* describe(cause, path, method, allowed)
  const response = yield* HttpServerRespondable.toResponse(problem)
  return response.status === 405 ? HttpServerResponse.setHeader(response, "allow", allowed.join(", ")) : response
})

/** Headers that belong to every answer: it may hold key values, so nobody keeps it. */
const finished = (response: HttpServerResponse.HttpServerResponse) =>
  Effect.map(RequestId, (id) =>
    HttpServerResponse.setHeaders(response, {
      "x-request-id": id,
      "x-content-type-options": "nosniff",
      ...(response.headers["cache-control"] === undefined ? { "cache-control": "no-store" } : {}),
      ...(response.status === 401 ? { "www-authenticate": "Bearer" } : {}),
      ...(response.status === 503 ? { "retry-after": "1" } : {})
    })
  )

/** Turns whatever the router could not answer into a problem, and completes every answer. */
export const layerProblems = (methodsOf: MethodsOf) =>
  HttpRouter.middleware(
    (app) =>
      app.pipe(
        Effect.catchCause((cause) =>
          Cause.hasInterruptsOnly(cause)
            ? Effect.failCause(cause)
            : Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => problemFor(cause, request, methodsOf))
        ),
        Effect.flatMap(finished)
      ),
    { global: true }
  )

/** Names the request, and brings its path and its body into one form, before it is routed. */
export const makeEdge =
  (bodyLimit: number, methodsOf: MethodsOf) =>
  <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const given = request.headers["x-request-id"]
      const id = given !== undefined && isSane(given) ? given : yield* Base62.random(22)
      const url = normalized(request.url)
      const answered =
        url === undefined
          ? Effect.flatMap(problemFor(Cause.fail(undecodable), request, methodsOf), finished)
          : Effect.flatMap(withSafeBody(request.modify({ url }), bodyLimit), (safe) =>
              Effect.provideService(app, HttpServerRequest.HttpServerRequest, safe)
            )
      return yield* answered.pipe(Effect.provideService(RequestId, id), Effect.annotateLogs({ requestId: id }))
    })
