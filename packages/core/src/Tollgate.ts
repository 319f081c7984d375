/**
 * The entry points: `Tollgate.layer` for Effect programs, and `createTollgate` with a promise API for all others.
 */
import { Context, Effect, Exit, Layer, Redacted, Schema, Scope } from "effect"
import { type Authenticate, Authenticator } from "./access/Authenticator.ts"
import { PrincipalShape, Unauthorized } from "./access/Principal.ts"
import { Consumers } from "./consumers/Consumers.ts"
import { SecretBox } from "./crypto/SecretBox.ts"
import { DeploymentConfig, parseDeploymentConfig } from "./deployments/config/DeploymentConfig.ts"
import { Deployments } from "./deployments/Deployments.ts"
import { DeploymentScheduler } from "./deployments/runner/DeploymentScheduler.ts"
import { Uploads } from "./deployments/uploads/Uploads.ts"
import { type Services, toWebHandler } from "./Http.ts"
import { normalizePath } from "./http/normalizePath.ts"
import { makeRoutes } from "./http/routes.ts"
import { ApiKeys } from "./keys/ApiKeys.ts"
import { KeyBuckets } from "./keys/KeyBuckets.ts"
import type { ReencryptResult } from "./keys/reencryptKeys.ts"
import { registerPrimarySecret } from "./keys/secretRecords.ts"
import { VerifyCache } from "./keys/VerifyCache.ts"
import { MeteringBuckets } from "./metering/MeteringBuckets.ts"
import { Plans } from "./metering/Plans.ts"
import { type QuotaEvent, QuotaThresholds } from "./metering/QuotaThresholds.ts"
import { Subscriptions } from "./metering/Subscriptions.ts"
import { Usage } from "./metering/Usage.ts"
import { authorizePromise } from "./promises/authorizePromise.ts"
import { consumersPromise } from "./promises/consumersPromise.ts"
import { deploymentsPromise } from "./promises/deploymentsPromise.ts"
import { keysPromise } from "./promises/keysPromise.ts"
import { meteringBucketsPromise, plansPromise, subscriptionsPromise, usagePromise } from "./promises/meteringPromise.ts"
import * as Promises from "./promises/Promises.ts"
import { ConfigurationError } from "./runtime/ConfigurationError.ts"
import { checkNodeVersion } from "./runtime/checkNodeVersion.ts"
import { Limits, parseLimits } from "./runtime/Limits.ts"
import { settleWithin } from "./runtime/settleWithin.ts"
import { fromWebRequest, type TransportRequest, type TransportResponse, toWebResponse } from "./runtime/Transport.ts"
import { TrustedClock } from "./runtime/TrustedClock.ts"
import { Store } from "./store/Store.ts"
import type { StoreError } from "./store/StoreError.ts"
import { type ServiceOptions, type TollgateOptions, validateOptions } from "./TollgateOptions.ts"

/** How long `close` waits for requests in flight. */
const drainTimeoutMs = 5_000

/** Wraps a handler and tracks the requests in flight; `drain` waits for them. */
const trackInFlight = (dispatch: (request: TransportRequest) => Promise<TransportResponse>) => {
  const inFlight = new Set<Promise<unknown>>()
  const handle = (request: TransportRequest): Promise<TransportResponse> => {
    const response = dispatch(request)
    const finished: Promise<unknown> = response.then(
      () => inFlight.delete(finished),
      () => inFlight.delete(finished)
    )
    inFlight.add(finished)
    return response
  }
  const drain = (): Promise<void> => settleWithin(drainTimeoutMs, Promise.all(inFlight))
  return { handle, drain }
}

const decodePrincipal = Schema.decodeUnknownEffect(PrincipalShape)

const parseSecrets = (secret: unknown): ReadonlyArray<Redacted.Redacted<string>> => {
  const secrets = Array.isArray(secret) ? secret : secret === undefined ? [] : [secret]
  return secrets.map((value) => Redacted.make(typeof value === "string" ? value : ""))
}

const verifyCacheLayer = ({
  verifyCache
}: Omit<ServiceOptions, "secret">): Layer.Layer<VerifyCache, ConfigurationError> => {
  if (verifyCache === undefined) return VerifyCache.layerDisabled
  const isPositiveInteger = (value: number) => Number.isSafeInteger(value) && value > 0
  return isPositiveInteger(verifyCache.ttl) && isPositiveInteger(verifyCache.capacity ?? 1)
    ? VerifyCache.layer(verifyCache)
    : Layer.effect(
        VerifyCache,
        new ConfigurationError({
          option: "verifyCache",
          problem: "ttl (in milliseconds) and capacity (in entries) must be positive integers"
        })
      )
}

const quotaThresholdLayer = ({
  onQuotaThreshold
}: Omit<ServiceOptions, "secret">): Layer.Layer<never, ConfigurationError> => {
  if (onQuotaThreshold === undefined) return Layer.empty
  const { thresholds, notify } =
    typeof onQuotaThreshold === "function" ? { thresholds: [0.8, 1], notify: onQuotaThreshold } : onQuotaThreshold
  if (!Array.isArray(thresholds) || !thresholds.every((threshold) => threshold > 0 && threshold <= 1)) {
    return Layer.effectDiscard(
      new ConfigurationError({
        option: "onQuotaThreshold",
        problem: "thresholds must be an array of numbers greater than 0 and at most 1"
      })
    )
  }
  const service = {
    thresholds,
    // Runs in a detached fiber: the hook must not delay or fail the request.
    notify: (event: QuotaEvent) =>
      Effect.asVoid(
        Effect.forkDetach(
          Effect.catch(
            Effect.tryPromise(async () => notify(event)),
            () => Effect.logError(`onQuotaThreshold failed for ${event.subscriptionId}, ${event.meter}`)
          ),
          { startImmediately: true }
        )
      )
  }
  return Layer.succeed(QuotaThresholds, service)
}

/**
 * Provides all services over a store.
 *
 * @example
 * ```ts
 * const services = Tollgate.layer({ secret }).pipe(Layer.provide(SqliteStore.layer("tollgate.db")))
 * ```
 */
const layer = ({
  secret,
  ...options
}: ServiceOptions): Layer.Layer<Services | SecretBox, ConfigurationError | StoreError, Store> => {
  const { deployments, publicUrl, sitesUrl } = options
  const secretBox = SecretBox.layer({
    secrets: parseSecrets(secret),
    keyStorage: options.keyStorage,
    prefix: options.keyPrefix
  }).pipe(Layer.tap((context) => registerPrimarySecret(Context.get(context, SecretBox))))
  return Layer.mergeAll(
    Consumers.layer,
    ApiKeys.layer,
    MeteringBuckets.layer,
    Plans.layer,
    Subscriptions.layer,
    Usage.layer,
    Layer.mergeAll(Deployments.layer, Uploads.layer).pipe(Layer.provide(DeploymentScheduler.layer))
  ).pipe(
    Layer.provide([KeyBuckets.layer, TrustedClock.layer, verifyCacheLayer(options), quotaThresholdLayer(options)]),
    Layer.provideMerge(
      Layer.mergeAll(
        secretBox,
        // Not the whole options object: it contains the tokens, and the layer would keep them in memory.
        Layer.effect(DeploymentConfig, parseDeploymentConfig({ deployments, publicUrl, sitesUrl })),
        Layer.effect(Limits, parseLimits(options.limits))
      )
    )
  )
}

const authenticatorLayer = ({
  tokens,
  authenticate
}: TollgateOptions): Layer.Layer<Authenticator, ConfigurationError> => {
  if (tokens !== undefined && authenticate !== undefined) {
    return Layer.effect(
      Authenticator,
      new ConfigurationError({ option: "tokens, authenticate", problem: "set one of the two, not both" })
    )
  }
  if (tokens !== undefined) return Authenticator.layerBearer(tokens)
  if (authenticate === undefined) return Authenticator.layerRejectAll
  const authenticateRequest: Authenticate = (request) =>
    Effect.flatMap(
      Effect.promise(async () => authenticate(request)),
      // An `authenticate` result that is not a valid principal is treated as unauthenticated.
      (principal) => Effect.mapError(decodePrincipal(principal), () => new Unauthorized())
    )
  return Authenticator.layer(authenticateRequest)
}

const storeLayer = ({ store }: TollgateOptions): Layer.Layer<Store, unknown> => {
  if (store === undefined || store === null) {
    return Layer.effect(
      Store,
      new ConfigurationError({ option: "store", problem: "must be a store, such as MemoryStore.open()" })
    )
  }
  return "commit" in store ? Layer.succeed(Store, store) : store
}

/**
 * Creates a Tollgate with a promise API. Rejects with a `ConfigurationError` if an option is invalid.
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
  const unsupportedNode = checkNodeVersion(process.versions.node)
  if (unsupportedNode !== undefined) throw unsupportedNode
  const scope = Scope.makeUnsafe()
  const close = () => Promises.run(Scope.close(scope, Exit.void))
  const services = Layer.mergeAll(layer(options), authenticatorLayer(options)).pipe(
    Layer.provideMerge(storeLayer(options))
  )
  try {
    const configurationError = validateOptions(options)
    if (configurationError !== undefined) throw configurationError
    const context = await Promises.run(Layer.buildWithScope(services, scope))
    const { dispatch, dispose } = toWebHandler(Layer.succeedContext(context), {
      bodyLimit: options.bodyLimit,
      publicUrl: options.publicUrl,
      docs: options.docs
    })
    const { handle, drain } = trackInFlight(dispatch)
    const { matchesRoute } = makeRoutes({
      docs: options.docs !== false,
      sites: options.deployments?.target.serve !== undefined
    })
    const sites = Context.get(context, DeploymentConfig)?.sites
    const isSitesHost = (host: string): boolean => sites?.matchHost(host) !== undefined
    return {
      consumers: consumersPromise(Context.get(context, Consumers)),
      keys: {
        ...keysPromise(Context.get(context, ApiKeys)),
        /**
         * Re-encrypts every stored key under the primary (first) secret. Safe to run while the server handles requests.
         */
        reencryptKeys: (): Promise<ReencryptResult> => Promises.run(Context.get(context, ApiKeys).reencryptKeys())
      },
      meteringBuckets: meteringBucketsPromise(Context.get(context, MeteringBuckets)),
      plans: plansPromise(Context.get(context, Plans)),
      subscriptions: subscriptionsPromise(Context.get(context, Subscriptions)),
      usage: usagePromise(Context.get(context, Usage)),
      deployments: deploymentsPromise(Context.get(context, Deployments), Context.get(context, Uploads)),
      /** Verifies a key and consumes quota in one call. Call it for every request that your server protects. */
      authorize: authorizePromise(Context.get(context, ApiKeys), Context.get(context, Usage)),
      /** The HTTP API as a web handler: mount it in any framework that has `Request` and `Response`. */
      handler: async (request: Request): Promise<Response> => toWebResponse(await handle(fromWebRequest(request))),
      /** Like `handler`, without web objects. The Node bindings use it. */
      dispatch: handle,
      /**
       * Whether a path belongs to Tollgate, for any method: check it before you pass a request on. Pass the `Host`
       * header as well, because on a host of `sitesUrl` every path belongs to Tollgate.
       */
      matches: (path: string, host = ""): boolean =>
        isSitesHost(host) || matchesRoute(normalizePath(path.split("?", 1)[0] ?? "")),
      /** Whether the value of a `Host` header is a host of `sitesUrl`, which serves sites only. */
      isSitesHost,
      /**
       * Waits up to 5 seconds for requests in flight, then stops all background work. A store that you opened stays
       * open; a store that you passed as a layer is closed.
       */
      close: async (): Promise<void> => {
        await drain()
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

/** Tollgate for Effect: `Tollgate.layer` provides its services over a store. */
export const Tollgate = { layer }
