/**
 * The HTTP API as a single handler. When the client disconnects, the request's abort signal interrupts the fiber that
 * handles it (see `runRequest`).
 */
import { Cause, Context, Effect, Exit, Layer, Scope } from "effect"
import { Authenticator } from "./access/Authenticator.ts"
import { Accounts } from "./accounts/Accounts.ts"
import { acceptSessions } from "./console/acceptSessions.ts"
import type { Console } from "./console/Console.ts"
import { ConsoleSessions } from "./console/ConsoleSessions.ts"
import { Consumers } from "./consumers/Consumers.ts"
import { SecretBox } from "./crypto/SecretBox.ts"
import { DeploymentConfig, type DeploymentConfigShape } from "./deployments/config/DeploymentConfig.ts"
import { Deployments } from "./deployments/Deployments.ts"
import { Projects } from "./deployments/Projects.ts"
import { Uploads } from "./deployments/uploads/Uploads.ts"
import { Events } from "./events/Events.ts"
import { buildRoutes } from "./http/buildRoutes.ts"
import { makeConsoleRoutes } from "./http/console.ts"
import { type DocsOption, makeDocsRoutes } from "./http/docs/docs.ts"
import { getCaller } from "./http/getCaller.ts"
import { makeMetricsRoute } from "./http/metrics.ts"
import { makeStartRequest, type StartRequest } from "./http/requestPipeline.ts"
import { locateRolledKey } from "./http/rollKeyResponse.ts"
import { makeRoutes, type Routes, sitesPath } from "./http/routes.ts"
import { SitesHttp } from "./http/SitesHttp.ts"
import { makeSystemOperations } from "./http/System.ts"
import { receiveUpload } from "./http/uploads.ts"
import { ApiKeys } from "./keys/ApiKeys.ts"
import { KeyBuckets } from "./keys/KeyBuckets.ts"
import { MeteringBuckets } from "./metering/buckets/MeteringBuckets.ts"
import { UsageHistory } from "./metering/history/UsageHistory.ts"
import { Plans } from "./metering/plans/Plans.ts"
import { Reservations } from "./metering/reservations/Reservations.ts"
import { Subscriptions } from "./metering/subscriptions/Subscriptions.ts"
import { Usage } from "./metering/usage/Usage.ts"
import { type AllOperations, descriptions } from "./operations/AllOperations.ts"
import type { Owners } from "./operations/checkOwner.ts"
import { findOperation } from "./operations/findOperation.ts"
import { fromWebRequest, type TransportRequest, type TransportResponse, toWebResponse } from "./runtime/Transport.ts"
import { Store } from "./store/Store.ts"
import { emptyHostContext, type HostContext } from "./telemetry/makeHostContext.ts"
import { Webhooks } from "./webhooks/Webhooks.ts"

export interface HttpOptions {
  /** Maximum size of a JSON request body in bytes. Default: 1 MiB. */
  readonly bodyLimit?: number | undefined
  /** The URL of the HTTP API as clients see it, including the path that it is mounted at. */
  readonly publicUrl?: string | undefined
  /**
   * Whether `/v1/openapi.json` and `/v1/docs` are served: `true` (the default) serves both to anyone, `false` serves
   * neither (404), `"protected"` requires a valid credential of any account for the OpenAPI description.
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
  /**
   * Serves a console at `/console/`: `adminConsole()` of `@tollgate/console`. Its files need no credential; what they show,
   * they request from the HTTP API with a management token, or with the token of a link that `createConsoleLink` made.
   * Default: none.
   */
  readonly console?: Console | undefined
}

/** The services that the HTTP API calls. */
export type Services =
  | Accounts
  | KeyBuckets
  | Consumers
  | ApiKeys
  | MeteringBuckets
  | Plans
  | Subscriptions
  | Usage
  | UsageHistory
  | Reservations
  | Projects
  | Deployments
  | Uploads
  | Events
  | Webhooks
  | ConsoleSessions

/** The operations by group. The group names are part of the OpenAPI description. */
export const allOperations: Effect.Effect<AllOperations, never, Services | Store> = Effect.gen(function* () {
  return {
    accounts: yield* Accounts,
    keyBuckets: yield* KeyBuckets,
    consumers: yield* Consumers,
    keys: yield* ApiKeys,
    buckets: yield* MeteringBuckets,
    plans: yield* Plans,
    subscriptions: { ...(yield* Subscriptions), ...(yield* Usage) },
    usage: { ...(yield* UsageHistory), ...(yield* Reservations), ...(yield* Usage) },
    projects: yield* Projects,
    deployments: { ...(yield* Deployments), ...(yield* Uploads) },
    events: yield* Events,
    webhooks: yield* Webhooks,
    system: makeSystemOperations(yield* Store)
  }
})

export const makeOwners = Effect.gen(function* () {
  const meteringBuckets = yield* MeteringBuckets
  const deployments = yield* Deployments
  return {
    meteringBucket: (bucketId) =>
      Effect.mapEager(meteringBuckets.getAccountName(bucketId), (accountName) => ({ accountName })),
    deployment: deployments.getProject
  } satisfies Owners
})

const makeApiRoutes = Effect.gen(function* () {
  const operations = {
    ...(yield* allOperations),
    access: { me: getCaller },
    uploads: { receive: receiveUpload(yield* Uploads) }
  }
  const { keyStorage } = yield* SecretBox
  return yield* buildRoutes({
    descriptions,
    owners: yield* makeOwners,
    getOperation: (description) => findOperation(operations, description),
    locations: { "consumers.rollKey": locateRolledKey(keyStorage) }
  })
})

type RouteOptions = Pick<HttpOptions, "docs" | "metrics" | "console">

/** The routes that the options enable. */
export const selectRoutes = (
  { docs = true, metrics = false, console }: RouteOptions,
  deployments: DeploymentConfigShape | undefined
): Routes =>
  makeRoutes({
    docs: docs !== false,
    metrics,
    sites: deployments?.target.serve !== undefined,
    console: console !== undefined
  })

/** The handlers of the routes that `selectRoutes` returns for the same options. */
const makeRouteHandlers = Effect.fnUntraced(function* (
  { docs = true, metrics = false, console }: RouteOptions,
  publicUrl: string | undefined
) {
  const sitesHandler = yield* SitesHttp
  return [
    ...(yield* makeApiRoutes),
    ...(yield* makeDocsRoutes(docs, publicUrl)),
    ...(metrics ? [yield* makeMetricsRoute] : []),
    ...(sitesHandler === undefined ? [] : [["GET", sitesPath, sitesHandler] as const]),
    ...(console === undefined ? [] : yield* makeConsoleRoutes(console))
  ]
})

/** With a console, the HTTP API also accepts the console's session tokens. */
const makeAuthenticator = Effect.fnUntraced(function* (console: Console | undefined) {
  const authenticator = yield* Authenticator
  return console === undefined ? authenticator : acceptSessions(authenticator, yield* ConsoleSessions)
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

export const makeHttpHandlers = <E>(
  services: Layer.Layer<Services | SecretBox | Authenticator | Store, E>,
  { bodyLimit = 1024 * 1024, publicUrl, docs, metrics, console }: HttpOptions,
  host: HostContext
): HttpHandlers => {
  const apiUrl = publicUrl?.replace(/\/+$/, "")
  const config = { bodyLimit, basePath: apiUrl && new URL(apiUrl).pathname.replace(/\/$/, "") }
  const scope = Scope.makeUnsafe()
  let handle: ((request: TransportRequest) => Promise<TransportResponse>) | undefined
  const initializing = Effect.runPromise(
    Effect.gen(function* () {
      const context = yield* Layer.buildWithScope(services, scope)
      const options = { docs, metrics, console }
      const routeHandlers = yield* makeRouteHandlers(options, apiUrl).pipe(
        Effect.provideServiceEffect(Authenticator, makeAuthenticator(console)),
        Effect.provideContext(context)
      )
      const deployments = Context.get(context, DeploymentConfig)
      const requestContext = Context.merge(host.context, context)
      const startRequest = makeStartRequest(routeHandlers, selectRoutes(options, deployments), {
        ...config,
        sites: deployments?.sites
      })
      handle = runRequest(() => host.withActiveSpan(requestContext), startRequest)
      return handle
    })
  )
  // Initialization errors surface on the first request; this avoids an unhandled rejection until then.
  initializing.catch(() => undefined)
  const dispatch = (request: TransportRequest): Promise<TransportResponse> =>
    handle === undefined ? initializing.then((handle) => handle(request)) : handle(request)
  return {
    dispatch,
    handler: async (request) => toWebResponse(await dispatch(fromWebRequest(request))),
    dispose: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

/** Builds the HTTP API over the services. `dispose` releases everything that the layer acquired. */
export const toWebHandler = <E>(
  services: Layer.Layer<Services | SecretBox | Authenticator | Store, E>,
  options: HttpOptions = {}
): HttpHandlers => makeHttpHandlers(services, options, emptyHostContext)
