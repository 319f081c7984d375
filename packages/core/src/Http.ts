/**
 * The HTTP interface as one function from a request to an answer.
 */
import { Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder, HttpApiScalar } from "effect/http-api"
import { Api } from "./Api.ts"
import type { Authenticator } from "./access/Authenticator.ts"
import type { Consumers } from "./consumers/Consumers.ts"
import { ConsumersHttp } from "./consumers/ConsumersHttp.ts"
import type { Deployments } from "./deployments/Deployments.ts"
import { DeploymentsHttp, UploadsHttp } from "./deployments/DeploymentsHttp.ts"
import { SitesHttp } from "./deployments/SitesHttp.ts"
import type { Uploads } from "./deployments/Uploads.ts"
import { layerAccess } from "./http/Access.ts"
import { layerProblems, makeEdge } from "./http/edge.ts"
import { InFlight } from "./http/idempotent.ts"
import { methodsOf } from "./http/routes.ts"
import { SystemHttp } from "./http/SystemHttp.ts"
import type { ApiKeys } from "./keys/ApiKeys.ts"
import { KeysHttp } from "./keys/KeysHttp.ts"
import type { Buckets } from "./metering/Buckets.ts"
import { BucketsHttp } from "./metering/BucketsHttp.ts"
import type { Usage } from "./metering/Usage.ts"
import type { Plans } from "./plans/Plans.ts"
import { PlansHttp } from "./plans/PlansHttp.ts"
import type { Store } from "./store/Store.ts"
import type { Subscriptions } from "./subscriptions/Subscriptions.ts"
import { SubscriptionsHttp } from "./subscriptions/SubscriptionsHttp.ts"

export interface HttpOptions {
  /** Bytes that a request's body may have: 1 MiB, unless said otherwise. */
  readonly bodyLimit?: number
}

/** Every service that the interface stands on. */
export type Services = Consumers | ApiKeys | Buckets | Plans | Subscriptions | Usage | Deployments | Uploads

export const openApiPath = "/v1/openapi.json"
export const docsPath = "/v1/docs"

const routes = Layer.mergeAll(
  HttpApiBuilder.layer(Api, { openapiPath: openApiPath }),
  HttpApiScalar.layer(Api, { path: docsPath }),
  SitesHttp,
  layerProblems(methodsOf)
).pipe(
  Layer.provide([
    ConsumersHttp,
    KeysHttp,
    BucketsHttp,
    PlansHttp,
    SubscriptionsHttp,
    DeploymentsHttp,
    UploadsHttp,
    SystemHttp
  ]),
  Layer.provide([layerAccess, InFlight.layer])
)

/** A web handler over the services, and how to end it. */
export const toWebHandler = <E>(
  services: Layer.Layer<Services | Authenticator | Store, E>,
  { bodyLimit = 1024 * 1024 }: HttpOptions = {}
): { readonly handler: (request: Request) => Promise<Response>; readonly dispose: () => Promise<void> } =>
  HttpRouter.toWebHandler(routes.pipe(Layer.provide(services), Layer.provide(HttpServer.layerServices)), {
    disableLogger: true,
    // Longer than any name that could be right: what is too long is told so by its schema.
    routerConfig: {
      maxParamLength: 4_096,
      caseSensitive: true,
      ignoreDuplicateSlashes: false,
      ignoreTrailingSlash: false
    },
    middleware: makeEdge(bodyLimit, methodsOf)
  })
