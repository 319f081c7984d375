/**
 * Tollgate as one layer for those who live in Effect, and as one object of promises for everybody else.
 */
import { Context, Effect, Exit, Layer, Redacted, Schema, Scope } from "effect"
import { type Authenticate, Authenticator } from "./access/Authenticator.ts"
import { PrincipalShape, Unauthorized } from "./access/Principal.ts"
import { Consumers } from "./consumers/Consumers.ts"
import { consumersPromise } from "./consumers/ConsumersPromise.ts"
import { Deployments } from "./deployments/Deployments.ts"
import { deploymentsPromise } from "./deployments/DeploymentsPromise.ts"
import { Hosting, hostingFor } from "./deployments/Hosting.ts"
import { Pipeline } from "./deployments/Pipeline.ts"
import { Uploads } from "./deployments/Uploads.ts"
import { type Services, toWebHandler } from "./Http.ts"
import { type Answer, type Asked, askedBy, toResponse } from "./http/Exchange.ts"
import { makeRoutes } from "./http/routes.ts"
import { ApiKeys } from "./keys/ApiKeys.ts"
import { KeyBuckets } from "./keys/KeyBuckets.ts"
import { keysPromise } from "./keys/KeysPromise.ts"
import { KeyVault } from "./keys/KeyVault.ts"
import type { Resealed } from "./keys/Reseal.ts"
import { registerSecrets } from "./keys/secretRecords.ts"
import { VerifyCache } from "./keys/VerifyCache.ts"
import { authorizePromise } from "./metering/AuthorizePromise.ts"
import { Buckets } from "./metering/Buckets.ts"
import { bucketsPromise, plansPromise, subscriptionsPromise, usagePromise } from "./metering/MeteringPromise.ts"
import { type QuotaEvent, QuotaWatch } from "./metering/QuotaWatch.ts"
import { Usage } from "./metering/Usage.ts"
import { Plans } from "./plans/Plans.ts"
import { ConfigurationError } from "./shared/ConfigurationError.ts"
import { Limits, parseLimits } from "./shared/Limits.ts"
import { Moments } from "./shared/Moments.ts"
import { optional } from "./shared/optional.ts"
import * as Promises from "./shared/Promises.ts"
import { waitAtMost } from "./shared/waitAtMost.ts"
import { Store } from "./store/Store.ts"
import type { StoreFault } from "./store/StoreError.ts"
import { Subscriptions } from "./subscriptions/Subscriptions.ts"
import { mistakeIn, type ServiceOptions, type TollgateOptions } from "./TollgateOptions.ts"

/** How long requests that run may take to end, once the gate is closed. */
const patience = 5_000

/** The same, and a way to wait for the requests that it is answering: what they began is then over. */
const countingInFlight = (exchange: (asked: Asked) => Promise<Answer>) => {
  const inFlight = new Set<Promise<unknown>>()
  const counted = (asked: Asked): Promise<Answer> => {
    const answer = exchange(asked)
    const over: Promise<unknown> = answer.then(
      () => inFlight.delete(over),
      () => inFlight.delete(over)
    )
    inFlight.add(over)
    return answer
  }
  const settled = (): Promise<void> => waitAtMost(patience, Promise.all(inFlight))
  return { counted, settled }
}

/** A path as it is routed: without its query, a trailing slash, or an encoded dollar sign. */
const routed = (path: string): string => (path.split("?", 1)[0] ?? "").replace(/(?<=.)\/$/, "").replaceAll("%24", "$")

const decodePrincipal = Schema.decodeUnknownEffect(PrincipalShape)

const secretsIn = (secret: unknown): ReadonlyArray<Redacted.Redacted<string>> => {
  const secrets = Array.isArray(secret) ? secret : secret === undefined ? [] : [secret]
  return secrets.map((one) => Redacted.make(typeof one === "string" ? one : ""))
}

const cacheFor = ({ verifyCache }: Omit<ServiceOptions, "secret">): Layer.Layer<VerifyCache, ConfigurationError> => {
  if (verifyCache === undefined) return VerifyCache.layerNone
  const isCount = (value: number) => Number.isSafeInteger(value) && value > 0
  return isCount(verifyCache.ttl) && isCount(verifyCache.capacity ?? 1)
    ? VerifyCache.layer(verifyCache)
    : Layer.effect(
        VerifyCache,
        new ConfigurationError({
          option: "verifyCache",
          problem: "give ttl in milliseconds and capacity as a number of answers, both integers from 1"
        })
      )
}

const watchFor = ({ onQuota }: Omit<ServiceOptions, "secret">): Layer.Layer<never, ConfigurationError> => {
  if (onQuota === undefined) return Layer.empty
  const { thresholds, notify } = typeof onQuota === "function" ? { thresholds: [0.8, 1], notify: onQuota } : onQuota
  if (!Array.isArray(thresholds) || !thresholds.every((threshold) => threshold > 0 && threshold <= 1)) {
    return Layer.effectDiscard(
      new ConfigurationError({ option: "onQuota", problem: "give thresholds above 0 and up to 1" })
    )
  }
  const watch = {
    thresholds,
    // Nobody waits for it: a hook that hangs, or fails, is its own affair.
    notify: (event: QuotaEvent) =>
      Effect.asVoid(
        Effect.forkDetach(
          Effect.catch(
            Effect.tryPromise(async () => notify(event)),
            () => Effect.logError(`onQuota failed for ${event.subscriptionId}, ${event.meter}`)
          ),
          { startImmediately: true }
        )
      )
  }
  return Layer.succeed(QuotaWatch, watch)
}

/**
 * All services over a store.
 *
 * @example
 * ```ts
 * const services = Tollgate.layer({ secret }).pipe(Layer.provide(SqliteStore.layer("tollgate.db")))
 * ```
 */
export const layer = ({
  secret,
  ...options
}: ServiceOptions): Layer.Layer<Services | KeyVault, ConfigurationError | StoreFault, Store> => {
  const { deployments, publicUrl, sitesUrl } = options
  const vault = KeyVault.layer({
    secrets: secretsIn(secret),
    ...optional({ retention: options.keyRetention, prefix: options.keyPrefix })
  }).pipe(Layer.tap((context) => registerSecrets(Context.get(context, KeyVault))))
  return Layer.mergeAll(
    Consumers.layer,
    ApiKeys.layer,
    Buckets.layer,
    Plans.layer,
    Subscriptions.layer,
    Usage.layer,
    Layer.mergeAll(Deployments.layer, Uploads.layer).pipe(Layer.provide(Pipeline.layer))
  ).pipe(
    Layer.provide([KeyBuckets.layer, Moments.layer, cacheFor(options), watchFor(options)]),
    Layer.provideMerge(
      Layer.mergeAll(
        vault,
        // Not all the options: a layer keeps what it is made of, and there are tokens among them.
        Layer.effect(Hosting, hostingFor(optional({ deployments, publicUrl, sitesUrl }))),
        Layer.effect(Limits, parseLimits(options.limits))
      )
    )
  )
}

const authenticatorFor = ({
  tokens,
  authenticate
}: TollgateOptions): Layer.Layer<Authenticator, ConfigurationError> => {
  if (tokens !== undefined && authenticate !== undefined) {
    return Layer.effect(
      Authenticator,
      new ConfigurationError({ option: "tokens, authenticate", problem: "give one of the two, not both" })
    )
  }
  if (tokens !== undefined) return Authenticator.layerBearer(tokens)
  if (authenticate === undefined) return Authenticator.layerClosed
  const ask: Authenticate = (request) =>
    Effect.flatMap(
      Effect.promise(async () => authenticate(request)),
      // Whatever does not say who it is, for whom, and what it may do, is nobody.
      (principal) => Effect.mapError(decodePrincipal(principal), () => new Unauthorized())
    )
  return Authenticator.layer(ask)
}

const storeFor = ({ store }: TollgateOptions): Layer.Layer<Store, unknown> => {
  if (store === undefined || store === null) {
    return Layer.effect(
      Store,
      new ConfigurationError({ option: "store", problem: "give one, such as MemoryStore.open()" })
    )
  }
  return "commit" in store ? Layer.succeed(Store, store) : store
}

/**
 * Tollgate for callers outside Effect. Wrong settings reject, with a message that says what to set.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store: MemoryStore.open(), secret: process.env.TOLLGATE_SECRET })
 * const alice = await gate.consumers.create("acme", "production", { name: "alice" }, { withApiKey: true })
 * const { valid } = await gate.keys.verify("acme", "production", alice.apiKeys[0].key)
 * await gate.close()
 * ```
 */
export const createTollgate = async (options: TollgateOptions) => {
  const scope = Scope.makeUnsafe()
  const close = () => Promises.run(Scope.close(scope, Exit.void))
  const services = Layer.mergeAll(layer(options), authenticatorFor(options)).pipe(Layer.provideMerge(storeFor(options)))
  try {
    const mistake = mistakeIn(options)
    if (mistake !== undefined) throw mistake
    const context = await Promises.run(Layer.buildWithScope(services, scope))
    const { exchange, dispose } = toWebHandler(
      Layer.succeedContext(context),
      optional({ bodyLimit: options.bodyLimit, publicUrl: options.publicUrl, docs: options.docs })
    )
    const { counted, settled } = countingInFlight(exchange)
    const { isPath } = makeRoutes({
      docs: options.docs !== false,
      sites: options.deployments?.target.serve !== undefined
    })
    const sitesAddress = Context.get(context, Hosting)?.sites
    const isSitesHost = (host: string): boolean => sitesAddress?.siteAt(host) !== undefined
    return {
      consumers: consumersPromise(Context.get(context, Consumers)),
      keys: {
        ...keysPromise(Context.get(context, ApiKeys)),
        /** Puts every key under the newest secret, while the service runs. */
        reseal: (): Promise<Resealed> => Promises.run(Context.get(context, ApiKeys).reseal())
      },
      buckets: bucketsPromise(Context.get(context, Buckets)),
      plans: plansPromise(Context.get(context, Plans)),
      subscriptions: subscriptionsPromise(Context.get(context, Subscriptions)),
      usage: usagePromise(Context.get(context, Usage)),
      deployments: deploymentsPromise(Context.get(context, Deployments), Context.get(context, Uploads)),
      /** Verifies a key and counts its use, in one call: what a server asks for every request that it protects. */
      authorize: authorizePromise(Context.get(context, ApiKeys), Context.get(context, Usage)),
      /** The HTTP interface: a web handler, to be mounted anywhere. */
      handler: async (request: Request): Promise<Response> => toResponse(await counted(askedBy(request))),
      /** The same without web objects, for bindings that have others: what those for Node call. */
      exchange: counted,
      /**
       * Whether a request is for Tollgate, whatever its method: what a router asks before it passes a request on. Give the
       * `Host` header too: on a host of `sitesUrl`, every path is Tollgate's.
       */
      owns: (path: string, host = ""): boolean => isSitesHost(host) || isPath(routed(path)),
      /** Whether a host, as in the `Host` header, is one of `sitesUrl`, which serves sites and nothing else. */
      isSitesHost,
      /** Ends what was started here, once the requests that run are answered. A store that was handed in stays open. */
      close: async (): Promise<void> => {
        await settled()
        await dispose()
        await close()
      }
    }
  } catch (error) {
    await close()
    throw error
  }
}

export type Tollgate = Awaited<ReturnType<typeof createTollgate>>
