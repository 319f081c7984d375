/**
 * The HTTP interface as one function from a request to an answer.
 */
import { Cause, Context, Effect, Exit, Layer, Scope } from "effect"
import type { Authenticator } from "./access/Authenticator.ts"
import type { Consumers } from "./consumers/Consumers.ts"
import type { SecretBox } from "./crypto/SecretBox.ts"
import type { Deployments } from "./deployments/Deployments.ts"
import { DeploymentConfig } from "./deployments/ports/DeploymentConfig.ts"
import type { Uploads } from "./deployments/uploads/Uploads.ts"
import { buildRoutes } from "./http/compile.ts"
import { type DocsOption, makeDocsEndpoints } from "./http/docs/docs.ts"
import { ConsumersHttp } from "./http/handlers/ConsumersHttp.ts"
import { DeploymentsHttp, UploadsHttp } from "./http/handlers/DeploymentsHttp.ts"
import { KeysHttp } from "./http/handlers/KeysHttp.ts"
import { MeteringBucketsHttp } from "./http/handlers/MeteringBucketsHttp.ts"
import { PlansHttp } from "./http/handlers/PlansHttp.ts"
import { SitesHttp } from "./http/handlers/SitesHttp.ts"
import { SubscriptionsHttp } from "./http/handlers/SubscriptionsHttp.ts"
import { SystemHttp } from "./http/handlers/SystemHttp.ts"
import { makeRequestHandler } from "./http/requestPipeline.ts"
import { makeRoutes, sitesPath } from "./http/routes.ts"
import type { ApiKeys } from "./keys/ApiKeys.ts"
import type { MeteringBuckets } from "./metering/MeteringBuckets.ts"
import type { Plans } from "./metering/Plans.ts"
import type { Subscriptions } from "./metering/Subscriptions.ts"
import type { Usage } from "./metering/Usage.ts"
import { fromWebRequest, type TransportRequest, type TransportResponse, toWebResponse } from "./runtime/Transport.ts"
import type { Store } from "./store/Store.ts"

export interface HttpOptions {
  /** Bytes that a request's body may have: 1 MiB, unless said otherwise. */
  readonly bodyLimit?: number | undefined
  /** The interface's address as clients see it, with the path it is mounted at. */
  readonly publicUrl?: string | undefined
  /**
   * Whether `/v1/openapi.json` and `/v1/docs` are served: `true` (the default) serves both to anyone, `false` serves
   * neither (404), `"protected"` asks for a valid credential of any account before it serves the description.
   *
   * The page stays open when protected: it is the same static document for every host, and a browser cannot send a
   * bearer token with an address. It asks for the token and then fetches the description with it; where your
   * `authenticate` reads a cookie, it fetches the description with that.
   */
  readonly docs?: DocsOption | undefined
}

/** Every service that the interface stands on. */
export type Services = Consumers | ApiKeys | MeteringBuckets | Plans | Subscriptions | Usage | Deployments | Uploads

const handlers = Effect.all({
  consumers: ConsumersHttp,
  keys: KeysHttp,
  buckets: MeteringBucketsHttp,
  plans: PlansHttp,
  subscriptions: SubscriptionsHttp,
  deployments: DeploymentsHttp,
  uploads: UploadsHttp,
  system: SystemHttp
})

const makeEndpoints = Effect.fnUntraced(function* (docs: DocsOption, publicUrl: string | undefined) {
  const sites = yield* SitesHttp
  const endpoints = [
    ...(yield* buildRoutes(yield* handlers)),
    ...(yield* makeDocsEndpoints(docs, publicUrl)),
    ...(sites === undefined ? [] : [["GET", sitesPath, sites] as const])
  ]
  return { endpoints, routes: makeRoutes({ docs: docs !== false, sites: sites !== undefined }) }
})

/** Whoever asked has left; nobody reads this. */
const clientClosedRequest: TransportResponse = { status: 499, headers: {}, body: undefined }

const fromExit = (exit: Exit.Exit<TransportResponse>): Promise<TransportResponse> => {
  if (Exit.isSuccess(exit)) return Promise.resolve(exit.value)
  return Cause.hasInterruptsOnly(exit.cause)
    ? Promise.resolve(clientClosedRequest)
    : Promise.reject(Cause.squash(exit.cause))
}

/** Answers, and stops when whoever asked leaves; what needs not wait is not waited for. */
const runRequest =
  (context: Context.Context<never>, edge: (asked: TransportRequest) => Effect.Effect<TransportResponse>) =>
  (asked: TransportRequest): Promise<TransportResponse> => {
    const fiber = Effect.runForkWith(context)(edge(asked))
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return fromExit(exit)
    const signal = asked.signal()
    const leave = () => fiber.interruptUnsafe()
    if (signal.aborted) leave()
    else signal.addEventListener("abort", leave, { once: true })
    return new Promise((resolve) =>
      fiber.addObserver((exit) => {
        signal.removeEventListener("abort", leave)
        resolve(fromExit(exit))
      })
    )
  }

export interface HttpHandlers {
  /** From a web request to a web response. */
  readonly handler: (request: Request) => Promise<Response>
  /** The same without web objects, for bindings that have others. */
  readonly dispatch: (asked: TransportRequest) => Promise<TransportResponse>
  readonly dispose: () => Promise<void>
}

/** The interface over the services, and how to end it. */
export const toWebHandler = <E>(
  services: Layer.Layer<Services | SecretBox | Authenticator | Store, E>,
  { bodyLimit = 1024 * 1024, publicUrl, docs = true }: HttpOptions = {}
): HttpHandlers => {
  const address = publicUrl?.replace(/\/+$/, "")
  const settings = { bodyLimit, basePath: address && new URL(address).pathname.replace(/\/$/, "") }
  const scope = Scope.makeUnsafe()
  let handle: ((asked: TransportRequest) => Promise<TransportResponse>) | undefined
  const initializing = Effect.runPromise(
    Effect.gen(function* () {
      const context = yield* Layer.buildWithScope(services, scope)
      const { endpoints, routes } = yield* Effect.provideContext(makeEndpoints(docs, address), context)
      const hosting = Context.get(context, DeploymentConfig)
      handle = runRequest(context, makeRequestHandler(endpoints, routes, { ...settings, sites: hosting?.sites }))
      return handle
    })
  )
  // Whoever asks is told; until then, nobody need hear of it.
  initializing.catch(() => undefined)
  const dispatch = (asked: TransportRequest): Promise<TransportResponse> =>
    handle === undefined ? initializing.then((answer) => answer(asked)) : handle(asked)
  return {
    dispatch,
    handler: async (request) => toWebResponse(await dispatch(fromWebRequest(request))),
    dispose: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
