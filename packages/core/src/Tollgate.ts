/**
 * The entry points: `Tollgate.layer` for Effect programs, and `createTollgate` with a promise API for all others.
 */
import { Context, Effect, Exit, Layer, Redacted, Schema, Scope } from "effect"
import { Unauthorized } from "./access/AccessError.ts"
import { type Authenticate, Authenticator } from "./access/Authenticator.ts"
import { PrincipalShape } from "./access/Principal.ts"
import { Accounts } from "./accounts/Accounts.ts"
import type { AccountsMethods } from "./accounts/AccountsApi.ts"
import { Consumers } from "./consumers/Consumers.ts"
import { SecretBox } from "./crypto/SecretBox.ts"
import { DeploymentConfig, makeDeploymentConfig } from "./deployments/config/DeploymentConfig.ts"
import { Deployments } from "./deployments/Deployments.ts"
import { Projects } from "./deployments/Projects.ts"
import { DeploymentScheduler } from "./deployments/runner/DeploymentScheduler.ts"
import { Uploads } from "./deployments/uploads/Uploads.ts"
import { allOperations, makeOwners, type Services, toWebHandler } from "./Http.ts"
import { normalizePath } from "./http/normalizePath.ts"
import { makeRoutes } from "./http/routes.ts"
import { ApiKeys } from "./keys/ApiKeys.ts"
import { KeyBuckets } from "./keys/KeyBuckets.ts"
import { KeyUse } from "./keys/KeyUse.ts"
import type { ReencryptResult } from "./keys/reencryptKeys.ts"
import { registerPrimarySecret } from "./keys/secretRecords.ts"
import { VerifyCache } from "./keys/VerifyCache.ts"
import { MeteringBuckets } from "./metering/MeteringBuckets.ts"
import { Plans } from "./metering/Plans.ts"
import { type QuotaEvent, QuotaThresholds } from "./metering/QuotaThresholds.ts"
import { Subscriptions } from "./metering/Subscriptions.ts"
import { Usage } from "./metering/Usage.ts"
import { type LocalAccountHandle, makeLocalHandles } from "./promises/makeLocalHandles.ts"
import { run } from "./promises/run.ts"
import type { ConfigurationError } from "./runtime/ConfigurationError.ts"
import { checkNodeVersion } from "./runtime/checkNodeVersion.ts"
import { Limits, resolveLimits } from "./runtime/Limits.ts"
import * as Options from "./runtime/Options.ts"
import { settleWithin } from "./runtime/settleWithin.ts"
import { fromWebRequest, type TransportRequest, type TransportResponse, toWebResponse } from "./runtime/Transport.ts"
import { TrustedClock } from "./runtime/TrustedClock.ts"
import { Store } from "./store/Store.ts"
import type { StoreError } from "./store/StoreError.ts"
import { type ServiceOptions, serviceOptions, type TollgateOptions, tollgateOptions } from "./TollgateOptions.ts"
import { completeDirectories } from "./upgrade/completeDirectories.ts"

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

const redactSecrets = (secret: string | ReadonlyArray<string>): ReadonlyArray<Redacted.Redacted<string>> =>
  [secret].flat().map((value) => Redacted.make(value))

const quotaThresholdLayer = (onQuotaThreshold: ServiceOptions["onQuotaThreshold"]): Layer.Layer<never> => {
  if (onQuotaThreshold === undefined) return Layer.empty
  const { thresholds, notify } =
    typeof onQuotaThreshold === "function" ? { thresholds: [0.8, 1], notify: onQuotaThreshold } : onQuotaThreshold
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

const makeServices = ({
  secret,
  ...options
}: typeof serviceOptions.Type): Layer.Layer<Services | SecretBox, ConfigurationError | StoreError, Store> => {
  const { deployments, publicUrl, sitesUrl } = options
  const secretBox = SecretBox.layer({
    secrets: redactSecrets(secret),
    keyStorage: options.keyStorage,
    prefix: options.keyPrefix
  }).pipe(Layer.tap((context) => registerPrimarySecret(Context.get(context, SecretBox))))
  return Layer.mergeAll(
    Accounts.layer,
    KeyBuckets.layer,
    Consumers.layer,
    ApiKeys.layer,
    MeteringBuckets.layer,
    Plans.layer,
    Subscriptions.layer,
    Usage.layer,
    Projects.layer,
    Layer.mergeAll(Deployments.layer, Uploads.layer).pipe(Layer.provide(DeploymentScheduler.layer)),
    Layer.effectDiscard(completeDirectories)
  ).pipe(
    Layer.provide([
      KeyBuckets.layer,
      KeyUse.layer,
      TrustedClock.layer,
      options.verifyCache === undefined ? VerifyCache.layerDisabled : VerifyCache.layer(options.verifyCache),
      quotaThresholdLayer(options.onQuotaThreshold)
    ]),
    Layer.provide(Accounts.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        secretBox,
        Layer.succeed(DeploymentConfig, makeDeploymentConfig({ deployments, publicUrl, sitesUrl })),
        Layer.succeed(Limits, resolveLimits(options.limits))
      )
    )
  )
}

/**
 * Provides all services over a store.
 *
 * @example
 * ```ts
 * const services = Tollgate.layer({ secret }).pipe(Layer.provide(SqliteStore.layer("tollgate.db")))
 * ```
 */
const layer = (options: ServiceOptions): Layer.Layer<Services | SecretBox, ConfigurationError | StoreError, Store> =>
  // Evaluated now, so that the layer holds the derived keys and not the secrets.
  Layer.unwrap(Exit.map(Options.decode(serviceOptions, options), makeServices))

const authenticatorLayer = ({
  tokens,
  authenticate
}: Pick<TollgateOptions, "tokens" | "authenticate">): Layer.Layer<Authenticator, ConfigurationError> => {
  if (tokens !== undefined) return Authenticator.layerBearer(tokens)
  if (authenticate === undefined) return Authenticator.layerRejectAll
  const authenticateRequest: Authenticate = (request, context) =>
    Effect.flatMap(
      Effect.promise(async () => authenticate(request, context)),
      // An `authenticate` result that is not a valid principal is treated as unauthenticated.
      (principal) => Effect.mapError(decodePrincipal(principal), () => new Unauthorized())
    )
  return Authenticator.layer(authenticateRequest)
}

const storeLayer = (store: TollgateOptions["store"]): Layer.Layer<Store, unknown> =>
  "commit" in store ? Layer.succeed(Store, store) : store

/** A Tollgate in this process, with a promise API. */
export interface Tollgate {
  /** All accounts. */
  readonly accounts: AccountsMethods
  /** The handle of an account: everything that belongs to it. Throws if the name is invalid. */
  account(name: string): LocalAccountHandle
  /** Re-encrypts every stored key under the primary (first) secret. Safe to run while the server handles requests. */
  reencryptKeys(): Promise<ReencryptResult>
  /**
   * The HTTP API as a web handler: mount it in any framework that has `Request` and `Response`. `authenticate` receives
   * `context`.
   */
  handler(request: Request, context?: unknown): Promise<Response>
  /** Like `handler`, without web objects. The Node bindings use it. */
  dispatch(request: TransportRequest): Promise<TransportResponse>
  /**
   * Whether a path belongs to Tollgate, for any method: check it before you pass a request on. Pass the `Host` header as
   * well, because on a host of `sitesUrl` every path belongs to Tollgate.
   */
  matches(path: string, host?: string): boolean
  /** Whether the value of a `Host` header is a host of `sitesUrl`, which serves sites only. */
  isSitesHost(host: string): boolean
  /**
   * Waits up to 5 seconds for requests in flight, then stops all background work. A store that you opened stays open; a
   * store that you passed as a layer is closed.
   */
  close(): Promise<void>
}

const makeHandles = Effect.gen(function* () {
  return makeLocalHandles({
    store: yield* Store,
    operations: yield* allOperations,
    owners: yield* makeOwners,
    keys: yield* ApiKeys,
    usage: yield* Usage,
    uploads: yield* Uploads
  })
})

/**
 * Creates a Tollgate with a promise API. Rejects with a `ConfigurationError` if an option is invalid.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store: MemoryStore.open(), secret: process.env.TOLLGATE_SECRET })
 * const production = gate.account("acme").keyBucket("production")
 * const alice = await production.consumers.create({ name: "alice" }, { withApiKey: true })
 * const { valid } = await production.verify(alice.apiKeys[0].key)
 * await gate.close()
 * ```
 */
export const createTollgate = async (options: TollgateOptions): Promise<Tollgate> => {
  const unsupportedNode = checkNodeVersion(process.versions.node)
  if (unsupportedNode !== undefined) throw unsupportedNode
  const { store, tokens, authenticate, bodyLimit, docs, ...rest } = Options.decodeSync(tollgateOptions, options)
  const { publicUrl, deployments } = rest
  const scope = Scope.makeUnsafe()
  const close = () => run(Scope.close(scope, Exit.void))
  const services = Layer.mergeAll(makeServices(rest), authenticatorLayer({ tokens, authenticate })).pipe(
    Layer.provideMerge(storeLayer(store))
  )
  try {
    const context = await run(Layer.buildWithScope(services, scope))
    const { dispatch, dispose } = toWebHandler(Layer.succeedContext(context), { bodyLimit, publicUrl, docs })
    const { handle, drain } = trackInFlight(dispatch)
    const { matchesRoute } = makeRoutes({ docs: docs !== false, sites: deployments?.target.serve !== undefined })
    const sites = Context.get(context, DeploymentConfig)?.sites
    const isSitesHost = (host: string): boolean => sites?.matchHost(host) !== undefined
    return {
      ...(await run(Effect.provideContext(makeHandles, context))),
      reencryptKeys: () => run(Context.get(context, ApiKeys).reencryptKeys()),
      handler: async (request, context) => toWebResponse(await handle(fromWebRequest(request, context))),
      dispatch: handle,
      matches: (path, host = "") => isSitesHost(host) || matchesRoute(normalizePath(path.split("?", 1)[0] ?? "")),
      isSitesHost,
      close: async () => {
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

/** Tollgate for Effect: `Tollgate.layer` provides its services over a store. */
export const Tollgate = { layer }
