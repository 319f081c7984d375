/**
 * Tollgate as one layer for those who live in Effect, and as one object of promises for everybody else.
 */
import { Context, Effect, Exit, Layer, Redacted, Schema, Scope } from "effect"
import { type Authenticate, Authenticator } from "./access/Authenticator.ts"
import { PrincipalShape, Unauthorized } from "./access/Principal.ts"
import { Consumers } from "./consumers/Consumers.ts"
import { SecretBox } from "./crypto/SecretBox.ts"
import { Deployments } from "./deployments/Deployments.ts"
import { DeploymentConfig, deploymentConfigLayer } from "./deployments/ports/DeploymentConfig.ts"
import { DeploymentScheduler } from "./deployments/runner/DeploymentScheduler.ts"
import { Uploads } from "./deployments/uploads/Uploads.ts"
import { type Services, toWebHandler } from "./Http.ts"
import { makeRoutes } from "./http/routes.ts"
import { ApiKeys } from "./keys/ApiKeys.ts"
import { KeyBuckets } from "./keys/KeyBuckets.ts"
import type { ReencryptResult } from "./keys/reencryptKeys.ts"
import { registerSecrets } from "./keys/secretRecords.ts"
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
import { Limits, parseLimits } from "./runtime/Limits.ts"
import { settleWithin } from "./runtime/settleWithin.ts"
import { fromWebRequest, type TransportRequest, type TransportResponse, toWebResponse } from "./runtime/Transport.ts"
import { TrustedClock } from "./runtime/TrustedClock.ts"
import { Store } from "./store/Store.ts"
import type { StoreError } from "./store/StoreError.ts"
import { type ServiceOptions, type TollgateOptions, validateOptions } from "./TollgateOptions.ts"

/** How long requests that run may take to end, once the gate is closed. */
const drainTimeoutMs = 5_000

/** The same, and a way to wait for the requests that it is answering: what they began is then over. */
const trackInFlight = (dispatch: (asked: TransportRequest) => Promise<TransportResponse>) => {
  const inFlight = new Set<Promise<unknown>>()
  const handle = (asked: TransportRequest): Promise<TransportResponse> => {
    const answer = dispatch(asked)
    const over: Promise<unknown> = answer.then(
      () => inFlight.delete(over),
      () => inFlight.delete(over)
    )
    inFlight.add(over)
    return answer
  }
  const drain = (): Promise<void> => settleWithin(drainTimeoutMs, Promise.all(inFlight))
  return { counted: handle, settled: drain }
}

/** A path as it is routed: without its query, a trailing slash, or an encoded dollar sign. */
const routed = (path: string): string => (path.split("?", 1)[0] ?? "").replace(/(?<=.)\/$/, "").replaceAll("%24", "$")

const decodePrincipal = Schema.decodeUnknownEffect(PrincipalShape)

const parseSecrets = (secret: unknown): ReadonlyArray<Redacted.Redacted<string>> => {
  const secrets = Array.isArray(secret) ? secret : secret === undefined ? [] : [secret]
  return secrets.map((one) => Redacted.make(typeof one === "string" ? one : ""))
}

const verifyCacheLayer = ({
  verifyCache
}: Omit<ServiceOptions, "secret">): Layer.Layer<VerifyCache, ConfigurationError> => {
  if (verifyCache === undefined) return VerifyCache.layerDisabled
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

const quotaThresholdLayer = ({
  onQuotaThreshold
}: Omit<ServiceOptions, "secret">): Layer.Layer<never, ConfigurationError> => {
  if (onQuotaThreshold === undefined) return Layer.empty
  const { thresholds, notify } =
    typeof onQuotaThreshold === "function" ? { thresholds: [0.8, 1], notify: onQuotaThreshold } : onQuotaThreshold
  if (!Array.isArray(thresholds) || !thresholds.every((threshold) => threshold > 0 && threshold <= 1)) {
    return Layer.effectDiscard(
      new ConfigurationError({ option: "onQuotaThreshold", problem: "give thresholds above 0 and up to 1" })
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
            () => Effect.logError(`onQuotaThreshold failed for ${event.subscriptionId}, ${event.meter}`)
          ),
          { startImmediately: true }
        )
      )
  }
  return Layer.succeed(QuotaThresholds, watch)
}

/**
 * All services over a store.
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
  const vault = SecretBox.layer({
    secrets: parseSecrets(secret),
    storage: options.keyStorage,
    prefix: options.keyPrefix
  }).pipe(Layer.tap((context) => registerSecrets(Context.get(context, SecretBox))))
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
        vault,
        // Not all the options: a layer keeps what it is made of, and there are tokens among them.
        Layer.effect(DeploymentConfig, deploymentConfigLayer({ deployments, publicUrl, sitesUrl })),
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

const storeLayer = ({ store }: TollgateOptions): Layer.Layer<Store, unknown> => {
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
  const services = Layer.mergeAll(layer(options), authenticatorLayer(options)).pipe(
    Layer.provideMerge(storeLayer(options))
  )
  try {
    const mistake = validateOptions(options)
    if (mistake !== undefined) throw mistake
    const context = await Promises.run(Layer.buildWithScope(services, scope))
    const { dispatch, dispose } = toWebHandler(Layer.succeedContext(context), {
      bodyLimit: options.bodyLimit,
      publicUrl: options.publicUrl,
      docs: options.docs
    })
    const { counted: handle, settled: drain } = trackInFlight(dispatch)
    const { matchesRoute: isPath } = makeRoutes({
      docs: options.docs !== false,
      sites: options.deployments?.target.serve !== undefined
    })
    const sitesAddress = Context.get(context, DeploymentConfig)?.sites
    const isSitesHost = (host: string): boolean => sitesAddress?.siteAt(host) !== undefined
    return {
      consumers: consumersPromise(Context.get(context, Consumers)),
      keys: {
        ...keysPromise(Context.get(context, ApiKeys)),
        /** Puts every key under the newest secret, while the service runs. */
        reencryptKeys: (): Promise<ReencryptResult> => Promises.run(Context.get(context, ApiKeys).reencryptKeys())
      },
      meteringBuckets: meteringBucketsPromise(Context.get(context, MeteringBuckets)),
      plans: plansPromise(Context.get(context, Plans)),
      subscriptions: subscriptionsPromise(Context.get(context, Subscriptions)),
      usage: usagePromise(Context.get(context, Usage)),
      deployments: deploymentsPromise(Context.get(context, Deployments), Context.get(context, Uploads)),
      /** Verifies a key and counts its use, in one call: what a server asks for every request that it protects. */
      authorize: authorizePromise(Context.get(context, ApiKeys), Context.get(context, Usage)),
      /** The HTTP interface: a web handler, to be mounted anywhere. */
      handler: async (request: Request): Promise<Response> => toWebResponse(await handle(fromWebRequest(request))),
      /** The same without web objects, for bindings that have others: what those for Node call. */
      dispatch: handle,
      /**
       * Whether a request is for Tollgate, whatever its method: what a router asks before it passes a request on. Give the
       * `Host` header too: on a host of `sitesUrl`, every path is Tollgate's.
       */
      matches: (path: string, host = ""): boolean => isSitesHost(host) || isPath(routed(path)),
      /** Whether a host, as in the `Host` header, is one of `sitesUrl`, which serves sites and nothing else. */
      isSitesHost,
      /** Ends what was started here, once the requests that run are answered. A store that was handed in stays open. */
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
