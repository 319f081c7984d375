/**
 * Sends the requests of the HTTP tests through Effect's own HttpApiBuilder as well. Its handlers return what Tollgate
 * responded, so both must decode the same requests, and encode the same results in the same way.
 */
import { Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder, type HttpApiEndpoint, type HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Principal } from "../../src/access/Principal.ts"
import { Authenticated } from "../../src/api/Authenticated.ts"
import type { OperationDescription } from "../../src/api/describeOperations.ts"
import { Api, descriptions } from "../allModules.ts"

/** What Tollgate responded, for the handler of the same request in Effect's builder. */
let outcome: Effect.Effect<unknown, unknown> = Effect.die("no request")
let isHandled = false

const handle = () =>
  Effect.suspend(() => {
    isHandled = true
    return outcome
  })

const groups = Object.values(Api.groups as unknown as Readonly<Record<string, HttpApiGroup.Top>>)

const groupLayers = groups.map((group) =>
  HttpApiBuilder.group(Api, group.identifier as "consumers", (handlers) => {
    const endpoints = Object.values(group.endpoints) as ReadonlyArray<HttpApiEndpoint.Top>
    return handlers.handleAll(
      Object.fromEntries(endpoints.map(({ identifier }) => [identifier, handle])) as never
    ) as never
  })
)

const authenticated = Layer.succeed(Authenticated, {
  bearer: (httpEffect: Effect.Effect<unknown>) =>
    Effect.provideService(httpEffect, Principal, { id: "test", account: "*", access: "write" })
} as never)

const app = HttpApiBuilder.layer(Api).pipe(
  Layer.provide(groupLayers as never),
  Layer.provide(authenticated),
  Layer.provide(HttpServer.layerServices)
) as Layer.Layer<never, never, HttpRouter.HttpRouter>

let handler: ((request: Request) => Promise<Response>) | undefined

interface Exchange {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly requestBody: string
  readonly status: number
  readonly responseHeaders: Headers
  readonly responseBody: string
}

const findDescription = (method: string, path: string): OperationDescription | undefined =>
  descriptions.find(
    (description) =>
      description.method === method &&
      new RegExp(`^${description.path.replace(/[$.]/g, "\\$&").replace(/:\w+/g, "[^/]+")}$`).test(path)
  )

/** Errors that Tollgate has before or beside the declaration: access, the body as such, and the server itself. */
const notDeclared = new Set([401, 403, 405, 408, 413, 415, 500, 501, 503])

/** Input that the declaration allows and Tollgate rejects: unsafe JSON, and rules across several fields. */
const isStricter = (detail: string): boolean =>
  /nested deeper|U\+0000|surrogate|too large|__proto__|more than|UTF-8|is required, because|cannot be renamed|not valid JSON|percent-encoding|wrong checksum|must not be before|cannot be combined with|earlier page in this order|which was reserved|must be in the years|not in the log any more/.test(
    detail
  )

const decodeOutcome = ({ response, errors }: OperationDescription, exchange: Exchange): typeof outcome => {
  const { status, responseHeaders, responseBody } = exchange
  const json: unknown = responseBody === "" ? undefined : JSON.parse(responseBody)
  if (status >= 400) return Effect.flatMap(decodeError(errors, json), Effect.fail)
  const location = responseHeaders.get("location")
  if (response.kind === "empty") return Effect.void
  if (response.kind === "located" && json === undefined) {
    return Effect.succeed(HttpApiSchema.withHeaders({ body: undefined, headers: { location } }))
  }
  const value = Schema.decodeUnknownEffect(response.body)(json)
  if (response.kind === "located") {
    return Effect.map(value, (body) => HttpApiSchema.withHeaders({ body, headers: { location } }))
  }
  const version = Number(responseHeaders.get("etag")?.slice(1, -1))
  if (response.kind === "with-rate-limits") {
    const policies = parsePolicies(responseHeaders)
    return Effect.map(value, (value) => ({ value, policies }))
  }
  return response.kind === "versioned" ? Effect.map(value, (value) => ({ value, version })) : value
}

/** The policies that the `RateLimit` headers describe. */
const parsePolicies = (headers: Headers) => {
  const parse = (name: string) => (headers.get(name) ?? "").split(", ").map((policy) => policy.match(/[^;="]+/g) ?? [])
  const states = parse("ratelimit")
  return headers.has("ratelimit")
    ? parse("ratelimit-policy").map(([name, , quota, , window], index) => ({
        name,
        quota: Number(quota),
        windowMs: Number(window) * 1_000,
        remaining: Number(states[index]?.[2]),
        resetAfterMs: Number(states[index]?.[4]) * 1_000
      }))
    : []
}

const decodeError = (errors: ReadonlyArray<Schema.Top>, json: unknown): Effect.Effect<unknown, unknown> =>
  Schema.decodeUnknownEffect(Schema.Union(errors) as unknown as Schema.Codec<unknown>)(json)

export interface Difference {
  readonly request: string
  readonly tollgate: unknown
  readonly effect: unknown
}

let previous: Promise<unknown> = Promise.resolve()

/** Compares one exchange at a time, because the handlers share `outcome`. */
export const compareWithEffect = (exchange: Exchange): Promise<Difference | undefined> => {
  const comparison = previous.then(() => compare(exchange))
  previous = comparison.catch(() => undefined)
  return comparison
}

/** Returns how Effect's builder responds differently; `undefined` if it does not. */
const compare = async (exchange: Exchange): Promise<Difference | undefined> => {
  const { method, path, headers, requestBody, status, responseHeaders, responseBody } = exchange
  const url = new URL(path, "http://gate")
  const description = findDescription(method, url.pathname)
  // Effect's router also decodes fixed parts of a path, and gives up on parameters of more than 100 characters.
  const isRoutedDifferently = path.includes("%") || path.endsWith("/") || /[^/]{101}/.test(url.pathname)
  // A page of many megabytes takes minutes to decode and to encode again.
  const isLarge = responseBody.length > 1_000_000
  const isCsv = responseHeaders.get("content-type")?.startsWith("text/csv") === true
  if (description === undefined || notDeclared.has(status) || isRoutedDifferently || isLarge || isCsv) return undefined
  const problem = status >= 400 ? JSON.parse(responseBody) : {}
  if (problem.code === "not-found" || isStricter(String(problem.detail))) return undefined
  outcome = decodeOutcome(description, exchange)
  isHandled = false
  handler ??= HttpRouter.toWebHandler(app, { disableLogger: true }).handler as never
  const hasBody = method !== "GET" && method !== "DELETE"
  const body = hasBody ? requestBody.trim() || "{}" : undefined
  const contentType = { "content-type": description.mediaType ?? "application/json" }
  const response = await handler?.(
    new Request(url, {
      method,
      headers: { ...headers, authorization: "Bearer x", ...(hasBody ? contentType : {}) },
      ...(body === undefined ? {} : { body })
    })
  )
  const text = (await response?.text()) ?? ""
  const summarize = (status: number | undefined, headers: Headers | undefined, body: string) => ({
    status,
    etag: headers?.get("etag"),
    location: headers?.get("location"),
    body: body === "" ? "" : JSON.parse(body)
  })
  // Tollgate names every invalid field. Effect's builder only has to reject the request as well.
  if (problem.code === "bad-request") {
    const rejects = !isHandled && response?.status === 400
    return rejects ? undefined : { request: `${method} ${path}`, tollgate: problem, effect: response?.status }
  }
  const tollgate = summarize(status, responseHeaders, responseBody)
  const effect = summarize(response?.status, response?.headers, text)
  return JSON.stringify(sortKeys(tollgate)) === JSON.stringify(sortKeys(effect))
    ? undefined
    : { request: `${method} ${path}`, tollgate, effect }
}

const sortKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([key, item]) => [key, sortKeys(item)])
  )
}
