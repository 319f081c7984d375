/**
 * The HTTP API as a single handler. When the client disconnects, the request's abort signal interrupts the fiber that
 * handles it (see `runRequest`).
 */

import {
  ConfigurationError,
  fromWebRequest,
  SecretBox,
  Store,
  type StoreOperations,
  type TransportRequest,
  type TransportResponse,
  toWebResponse
} from "@tollgate/store/internal"
import { Cause, Context, Effect, Exit, Layer, Record, Scope } from "effect"
import { Authenticator } from "./access/Authenticator.ts"
import type { Owners } from "./api/checkOwner.ts"
import type { DeclaredApi } from "./api/declareApi.ts"
import { type AnyOperation, findOperation } from "./api/findOperation.ts"
import { declareAll } from "./assembly/coreDeclaration.ts"
import { type CoreServices, coreParts, mergeRecords } from "./assembly/coreParts.ts"
import { buildRoutes } from "./http/buildRoutes.ts"
import { Docs, type DocsOption } from "./http/Docs.ts"
import { makeDocsRoutes } from "./http/docs/docs.ts"
import { makeAccountExamples } from "./http/docs/examples/coreExamples.ts"
import { makeMetricsRoute } from "./http/metrics.ts"
import { makeStartRequest, type StartRequest } from "./http/requestPipeline.ts"
import { locateRolledKey } from "./http/rollKeyResponse.ts"
import { makeRoutes, type ServedRoute } from "./http/routes.ts"
import { Modules } from "./modules/Modules.ts"
import { PublicUrl } from "./modules/PublicUrl.ts"
import type { SearchSource } from "./search/SearchSource.ts"
import { makeSearchAccount } from "./search/searchAccount.ts"
import { emptyHostContext, type HostContext } from "./telemetry/makeHostContext.ts"

export interface HttpOptions {
  /** Maximum size of a JSON request body in bytes. Default: 1 MiB. */
  readonly bodyLimit?: number | undefined
  /**
   * Whether `/v1/openapi.json` is served and, with the module of the console, the page `/v1/docs`: `true` (the default)
   * serves both to anyone, `false` serves neither (404), `"protected"` requires a valid credential of any account for the
   * OpenAPI description.
   *
   * `"protected"` leaves the page itself public: it is the same static document on every server, and a browser cannot
   * send a bearer token when it opens a URL. The page prompts for the token and fetches the OpenAPI description with
   * it. If your `authenticate` reads a cookie, the browser sends the cookie instead.
   */
  readonly docs?: DocsOption | undefined
  /**
   * Whether `/metrics` serves the metrics to Prometheus, for credentials for all accounts. Default: false. `gate.metrics()`
   * returns the same text, for a route of your own.
   */
  readonly metrics?: boolean | undefined
}

/** What core and its modules are together, in the form that HTTP and handles need. */
export interface Assembled extends DeclaredApi {
  readonly operations: Readonly<Record<string, object>>
  readonly owners: Owners
}

/** Adds what modules tell about an account. */
const withDetails = (
  operations: Readonly<Record<string, object>>,
  details: ReadonlyArray<(accountName: string) => Effect.Effect<object, unknown>>
): Readonly<Record<string, object>> => {
  const get = findOperation(operations, { group: "accounts", name: "get" })
  const getWithDetails: AnyOperation = (request) =>
    Effect.zipWith(
      get?.(request) ?? Effect.succeed({}),
      Effect.forEach(details, (read) => read(request.params?.["accountName"] ?? "")),
      (account, added) => Object.assign({}, account, ...added)
    )
  return { ...operations, accounts: { ...operations["accounts"], get: getWithDetails } }
}

/** Adds the search in all that core and modules have. */
const withSearch = (
  operations: Readonly<Record<string, object>>,
  sources: ReadonlyArray<SearchSource>,
  store: StoreOperations
) => ({
  ...operations,
  search: { find: makeSearchAccount(sources, store) }
})

/** Puts core and modules together. The modules are part of the context. */
export const assemble = Effect.gen(function* () {
  const parts = [coreParts, ...(yield* Modules)]
  const declared = declareAll(parts.slice(1))
  const operations = mergeRecords(yield* Effect.all(parts.flatMap(({ operations }) => operations ?? [])))
  const details = yield* Effect.all(parts.flatMap(({ accountDetails }) => accountDetails ?? []))
  const sources = parts.flatMap(({ search }) => search ?? [])
  const finders = mergeRecords(yield* Effect.all(parts.flatMap(({ owners }) => owners ?? [])))
  const owned = mergeRecords(parts.map(({ owned = {} }) => owned))
  const owners = Record.map(owned, (notFound, kind) => ({
    find: finders[kind] ?? (() => Effect.die(new Error(`Nothing finds the owner of a ${kind}`))),
    notFound
  }))
  const assembled: Assembled = {
    ...declared,
    operations: withSearch(withDetails(operations, details), sources, yield* Store),
    owners
  }
  return assembled
})

const makeApiRoutes = Effect.fnUntraced(function* ({ descriptions, operations, owners }: Assembled) {
  const { keyStorage } = yield* SecretBox
  return yield* buildRoutes({
    descriptions,
    owners,
    getOperation: (description) => findOperation(operations, description),
    locations: { "consumers.rollKey": locateRolledKey(keyStorage) }
  })
})

type RouteOptions = Pick<HttpOptions, "docs" | "metrics">

/** The routes of all endpoints, and those beside them that options and modules turn on. */
const makeAllRoutes = Effect.fnUntraced(function* (
  assembled: Assembled,
  { docs = true, metrics = false }: RouteOptions,
  publicUrl: string | undefined
) {
  const modules = yield* Modules
  const examples = {
    ...mergeRecords([coreParts, ...modules].map(({ examples = {} }) => examples)),
    accounts: makeAccountExamples(modules.flatMap(({ accountExample }) => accountExample ?? []))
  }
  const served: ReadonlyArray<ServedRoute> = [
    ...(yield* makeDocsRoutes(assembled, examples, docs, publicUrl)),
    ...(metrics ? [yield* makeMetricsRoute] : []),
    ...(yield* Effect.provideService(Effect.all(modules.flatMap(({ routes }) => routes ?? [])), Docs, docs)).flat()
  ]
  const paths = served.map(({ method, path }) => `${method} ${path}`)
  const repeated = paths.find((path, index) => paths.indexOf(path) < index)
  if (repeated !== undefined) {
    return yield* new ConfigurationError({ option: "modules", problem: `two of them serve ${repeated}` })
  }
  const hosts = (yield* Effect.all(modules.flatMap(({ hosts }) => hosts ?? []))).flatMap((host) => host ?? [])
  return { routes: makeRoutes(yield* makeApiRoutes(assembled), served), hosts }
})

/** The authenticator of the application, and before it those of modules. */
const makeAuthenticator = Effect.gen(function* () {
  const wrappers = yield* Effect.all((yield* Modules).flatMap(({ acceptCredentials }) => acceptCredentials ?? []))
  return wrappers.reduce((next, wrap) => wrap(next), yield* Authenticator)
})

/** 499: the client disconnected before the response was ready. This response is never sent. */
const clientClosedRequest: TransportResponse = { status: 499, headers: {}, body: undefined }

/** An interruption means that the client disconnected; any other failure is a defect. */
const exitToResponse = (exit: Exit.Exit<TransportResponse>): Promise<TransportResponse> => {
  if (Exit.isSuccess(exit)) return Promise.resolve(exit.value)
  return Cause.hasInterruptsOnly(exit.cause)
    ? Promise.resolve(clientClosedRequest)
    : Promise.reject(Cause.squash(exit.cause))
}

/**
 * Runs a request in a fiber, and interrupts the fiber when the request's signal aborts because the client disconnected.
 * If the fiber finishes synchronously, it returns without registering for the abort.
 */
const runRequest =
  (enter: () => Context.Context<never>, startRequest: StartRequest) =>
  (request: TransportRequest): Promise<TransportResponse> => {
    const fiber = startRequest(request, enter())
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return exitToResponse(exit)
    const signal = request.signal()
    const interrupt = () => fiber.interruptUnsafe()
    if (signal.aborted) interrupt()
    else signal.addEventListener("abort", interrupt, { once: true })
    return new Promise((resolve) =>
      fiber.addObserver((exit) => {
        signal.removeEventListener("abort", interrupt)
        resolve(exitToResponse(exit))
      })
    )
  }

/** The HTTP API as functions, which `toWebHandler` returns. `dispose` releases everything that its layer acquired. */
export interface HttpHandlers {
  /** Handles a web `Request`. */
  readonly handler: (request: Request) => Promise<Response>
  /** Handles a request without web objects, for framework bindings. */
  readonly dispatch: (request: TransportRequest) => Promise<TransportResponse>
  readonly dispose: () => Promise<void>
}

/** The HTTP API of services that were built. */
export const makeHttp = Effect.fnUntraced(function* (
  assembled: Assembled,
  { bodyLimit = 1024 * 1024, docs, metrics }: HttpOptions,
  host: HostContext
) {
  const apiUrl = yield* PublicUrl
  const config = { bodyLimit, basePath: apiUrl && new URL(apiUrl).pathname.replace(/\/$/, "") }
  const { routes, hosts } = yield* Effect.provideServiceEffect(
    makeAllRoutes(assembled, { docs, metrics }, apiUrl),
    Authenticator,
    makeAuthenticator
  )
  const requestContext = Context.merge(host.context, yield* Effect.context<never>())
  const startRequest = makeStartRequest(routes, hosts, config)
  const isOwnHost = (host: string): boolean => hosts.some(({ matches }) => matches(host))
  return {
    dispatch: runRequest(() => host.withActiveSpan(requestContext), startRequest),
    /** Whether a path belongs to the HTTP API, or the host to a module. */
    matches: (path: string, host: string): boolean => isOwnHost(host) || routes.matches(path),
    isOwnHost
  }
})

/** Builds the HTTP API over the services. `dispose` releases everything that the layer acquired. */
export const toWebHandler = <E>(
  services: Layer.Layer<CoreServices | SecretBox | Authenticator | Store, E>,
  options: HttpOptions = {}
): HttpHandlers => {
  const scope = Scope.makeUnsafe()
  const initializing = Effect.runPromise(
    Effect.gen(function* () {
      const context = yield* Layer.buildWithScope(services, scope)
      const http = Effect.flatMap(assemble, (assembled) => makeHttp(assembled, options, emptyHostContext))
      return yield* Effect.provideContext(http, context)
    })
  )
  // Initialization errors surface on the first request; this avoids an unhandled rejection until then.
  initializing.catch(() => undefined)
  const dispatch = (request: TransportRequest): Promise<TransportResponse> =>
    initializing.then((http) => http.dispatch(request))
  return {
    dispatch,
    handler: async (request) => toWebResponse(await dispatch(fromWebRequest(request))),
    dispose: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
