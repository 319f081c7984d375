/**
 * The HTTP interface as one function from a request to an answer.
 */
import { Cause, type Context, Effect, Exit, Layer, Scope } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { Api } from "./Api.ts"
import type { Authenticator } from "./access/Authenticator.ts"
import type { Consumers } from "./consumers/Consumers.ts"
import { ConsumersHttp } from "./consumers/ConsumersHttp.ts"
import type { Deployments } from "./deployments/Deployments.ts"
import { DeploymentsHttp, UploadsHttp } from "./deployments/DeploymentsHttp.ts"
import { SitesHttp } from "./deployments/SitesHttp.ts"
import type { Uploads } from "./deployments/Uploads.ts"
import { compiled, type Endpoint } from "./http/compile.ts"
import { type Answer, type Asked, answeredBy, askedBy, toResponse } from "./http/Exchange.ts"
import { makeEdge } from "./http/edge.ts"
import { Incoming } from "./http/Incoming.ts"
import { docsPath, openApiPath, sitesPath } from "./http/routes.ts"
import { SystemHttp } from "./http/SystemHttp.ts"
import type { ApiKeys } from "./keys/ApiKeys.ts"
import { KeysHttp } from "./keys/KeysHttp.ts"
import type { KeyVault } from "./keys/KeyVault.ts"
import type { Buckets } from "./metering/Buckets.ts"
import { BucketsHttp } from "./metering/BucketsHttp.ts"
import type { Usage } from "./metering/Usage.ts"
import type { Plans } from "./plans/Plans.ts"
import { PlansHttp } from "./plans/PlansHttp.ts"
import { optional } from "./shared/optional.ts"
import type { Store } from "./store/Store.ts"
import type { Subscriptions } from "./subscriptions/Subscriptions.ts"
import { SubscriptionsHttp } from "./subscriptions/SubscriptionsHttp.ts"

export interface HttpOptions {
  /** Bytes that a request's body may have: 1 MiB, unless said otherwise. */
  readonly bodyLimit?: number
  /** The interface's address as clients see it, with the path it is mounted at. */
  readonly publicUrl?: string
}

/** Every service that the interface stands on. */
export type Services = Consumers | ApiKeys | Buckets | Plans | Subscriptions | Usage | Deployments | Uploads

const handlers = Effect.all({
  consumers: ConsumersHttp,
  keys: KeysHttp,
  buckets: BucketsHttp,
  plans: PlansHttp,
  subscriptions: SubscriptionsHttp,
  deployments: DeploymentsHttp,
  uploads: UploadsHttp,
  system: SystemHttp
})

/** The description of the interface, made when it is first asked for; it says where the interface is, if that is known. */
const describing = (publicUrl: string | undefined): Endpoint => {
  let description: object | undefined
  return () =>
    Effect.map(Incoming, ({ base }) => {
      description ??= OpenApi.fromApi(Api)
      const url = publicUrl ?? base
      const body = JSON.stringify(url === "" ? description : { ...description, servers: [{ url }] })
      return { status: 200, headers: { "content-type": "application/json" }, body }
    })
}

/** The pages that show it: a handler of their own. */
const showing = (): Endpoint => {
  const { handler } = HttpRouter.toWebHandler(HttpApiScalar.layer(Api, { path: docsPath }), { disableLogger: true })
  return ({ request }) => Effect.promise(async () => answeredBy(await handler(request())))
}

const endpointsAt = Effect.fnUntraced(function* (publicUrl: string | undefined) {
  const sites = yield* SitesHttp
  return [
    ...(yield* compiled(yield* handlers)),
    ["GET", openApiPath, describing(publicUrl)] as const,
    ["GET", docsPath, showing()] as const,
    ...(sites === undefined ? [] : [["GET", sitesPath, sites] as const])
  ]
})

/** Whoever asked has left; nobody reads this. */
const left: Answer = { status: 499, headers: {}, body: undefined }

const outcome = (exit: Exit.Exit<Answer>): Promise<Answer> => {
  if (Exit.isSuccess(exit)) return Promise.resolve(exit.value)
  return Cause.hasInterruptsOnly(exit.cause) ? Promise.resolve(left) : Promise.reject(Cause.squash(exit.cause))
}

/** Answers, and stops when whoever asked leaves; what needs not wait is not waited for. */
const answering =
  (context: Context.Context<never>, edge: (asked: Asked) => Effect.Effect<Answer>) =>
  (asked: Asked): Promise<Answer> => {
    const fiber = Effect.runForkWith(context)(edge(asked))
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return outcome(exit)
    const signal = asked.signal()
    const leave = () => fiber.interruptUnsafe()
    if (signal.aborted) leave()
    else signal.addEventListener("abort", leave, { once: true })
    return new Promise((resolve) =>
      fiber.addObserver((exit) => {
        signal.removeEventListener("abort", leave)
        resolve(outcome(exit))
      })
    )
  }

export interface HttpInterface {
  /** From a web request to a web response. */
  readonly handler: (request: Request) => Promise<Response>
  /** The same without web objects, for bindings that have others. */
  readonly exchange: (asked: Asked) => Promise<Answer>
  readonly dispose: () => Promise<void>
}

/** The interface over the services, and how to end it. */
export const toWebHandler = <E>(
  services: Layer.Layer<Services | KeyVault | Authenticator | Store, E>,
  { bodyLimit = 1024 * 1024, publicUrl }: HttpOptions = {}
): HttpInterface => {
  const address = publicUrl?.replace(/\/+$/, "")
  const settings = { bodyLimit, ...optional({ base: address && new URL(address).pathname.replace(/\/$/, "") }) }
  const scope = Scope.makeUnsafe()
  let ready: ((asked: Asked) => Promise<Answer>) | undefined
  const building = Effect.runPromise(
    Effect.gen(function* () {
      const context = yield* Layer.buildWithScope(services, scope)
      const made = yield* Effect.provideContext(endpointsAt(address), context)
      ready = answering(context, makeEdge(made, settings))
      return ready
    })
  )
  // Whoever asks is told; until then, nobody need hear of it.
  building.catch(() => undefined)
  const exchange = (asked: Asked): Promise<Answer> =>
    ready === undefined ? building.then((answer) => answer(asked)) : ready(asked)
  return {
    exchange,
    handler: async (request) => toResponse(await exchange(askedBy(request))),
    dispose: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
