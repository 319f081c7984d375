/**
 * The entry points: `Tollgate.layer` for Effect programs, and `createTollgate` with a promise API for all others.
 */
import { Context, Effect, Exit, Layer, Redacted, Schema, Scope } from "effect"
import { type Authenticate, Authenticator } from "./access/Authenticator.ts"
import { acceptPrincipal } from "./access/acceptPrincipal.ts"
import { Accounts } from "./accounts/Accounts.ts"
import type { AccountsMethods } from "./accounts/AccountsApi.ts"
import { Limits, resolveLimits } from "./accounts/limits/Limits.ts"
import { ConsoleSessions } from "./console/ConsoleSessions.ts"
import { type ConsoleLink, type ConsoleLinkOptions, makeCreateLink } from "./console/createLink.ts"
import { Consumers } from "./consumers/Consumers.ts"
import { SecretBox } from "./crypto/SecretBox.ts"
import { DeploymentConfig, makeDeploymentConfig } from "./deployments/config/DeploymentConfig.ts"
import { Deployments } from "./deployments/Deployments.ts"
import { Projects } from "./deployments/Projects.ts"
import { DeploymentScheduler } from "./deployments/runner/DeploymentScheduler.ts"
import { Uploads } from "./deployments/uploads/Uploads.ts"
import { Events } from "./events/Events.ts"
import { allOperations, makeHttpHandlers, makeOwners, type Services, selectRoutes } from "./Http.ts"
import { normalizePath } from "./http/normalizePath.ts"
import { ApiKeys } from "./keys/ApiKeys.ts"
import { KeyBuckets } from "./keys/KeyBuckets.ts"
import { KeyUse } from "./keys/KeyUse.ts"
import type { ReencryptResult } from "./keys/reencryptKeys.ts"
import { registerPrimarySecret } from "./keys/secretRecords.ts"
import { VerifyCache } from "./keys/VerifyCache.ts"
import { MeteringBuckets } from "./metering/buckets/MeteringBuckets.ts"
import { UsageHistory } from "./metering/history/UsageHistory.ts"
import { Plans } from "./metering/plans/Plans.ts"
import { Reservations } from "./metering/reservations/Reservations.ts"
import { Subscriptions } from "./metering/subscriptions/Subscriptions.ts"
import { defaultThresholds, type QuotaEvent, QuotaThresholds } from "./metering/usage/QuotaThresholds.ts"
import { Usage } from "./metering/usage/Usage.ts"
import { Event } from "./outbox/Event.ts"
import { EventRetention, resolveEventRetention } from "./outbox/EventRetention.ts"
import { outboxStoreLayer } from "./outbox/outboxStore.ts"
import { RelaySignals } from "./outbox/RelaySignals.ts"
import { type LocalAccountHandle, makeLocalHandles } from "./promises/makeLocalHandles.ts"
import { run } from "./promises/run.ts"
import { type EventHook, EventHooks } from "./relay/EventHooks.ts"
import { eventRelayLayer } from "./relay/EventRelay.ts"
import { type BackgroundTasks, makeBackgroundTasks } from "./runtime/BackgroundTasks.ts"
import type { ConfigurationError } from "./runtime/ConfigurationError.ts"
import { checkNodeVersion } from "./runtime/checkNodeVersion.ts"
import * as Options from "./runtime/Options.ts"
import { settleWithin } from "./runtime/settleWithin.ts"
import { fromWebRequest, type TransportRequest, type TransportResponse, toWebResponse } from "./runtime/Transport.ts"
import { TrustedClock } from "./runtime/TrustedClock.ts"
import { skipChecks } from "./schema/skipChecks.ts"
import { countedStoreLayer } from "./storage/countedStore.ts"
import { Store } from "./store/Store.ts"
import type { StoreError } from "./store/StoreError.ts"
import { type ServiceOptions, serviceOptions, type TollgateOptions, tollgateOptions } from "./TollgateOptions.ts"
import { instruments } from "./telemetry/instruments.ts"
import { type HostContext, makeHostContext } from "./telemetry/makeHostContext.ts"
import { measuredStoreLayer, measureStore } from "./telemetry/measureStore.ts"
import { Telemetry, telemetryLayer } from "./telemetry/Telemetry.ts"
import { DeliveryWorker } from "./webhooks/DeliveryWorker.ts"
import { resolveWebhookOptions, WebhookConfig } from "./webhooks/WebhookConfig.ts"
import { Webhooks } from "./webhooks/Webhooks.ts"

/** How long `close` waits for requests in flight and for background tasks. */
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
  return { handle, drain, count: () => inFlight.size }
}

const redactSecrets = (secret: string | ReadonlyArray<string>): ReadonlyArray<Redacted.Redacted<string>> =>
  [secret].flat().map((value) => Redacted.make(value))

/** Calls a function of the host. Waits for its promise, if it returns one. */
const callHost = <A>(call: (argument: A) => unknown, argument: A): Effect.Effect<void, unknown> =>
  Effect.asVoid(Effect.tryPromise(async () => call(argument)))

/** The hooks that the options configure. Their names are stored and cannot change. */
const makeHooks = ({
  onEvent,
  onQuotaThreshold
}: Pick<ServiceOptions, "onEvent" | "onQuotaThreshold">): ReadonlyArray<EventHook> => {
  const notify = typeof onQuotaThreshold === "function" ? onQuotaThreshold : onQuotaThreshold?.notify
  return [
    ...(onEvent === undefined
      ? []
      : [{ name: "onEvent", handle: (event: Event) => callHost(onEvent, encodeEvent(event)) }]),
    ...(notify === undefined
      ? []
      : [
          {
            name: "onQuotaThreshold",
            type: "quota.threshold_reached" as const,
            handle: ({ data }: Event) => callHost(notify, data as unknown as QuotaEvent)
          }
        ])
  ]
}

const encodeEvent = Schema.encodeSync(Event, skipChecks)

const makeServices = ({
  secret,
  ...options
}: typeof serviceOptions.Type): Layer.Layer<Services | SecretBox, ConfigurationError | StoreError, Store> => {
  const { deployments, publicUrl, sitesUrl } = options
  const limits = resolveLimits(options.limits)
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
    Reservations.layer.pipe(Layer.provideMerge(Usage.layer)),
    UsageHistory.layer,
    Projects.layer,
    Layer.mergeAll(Deployments.layer, Uploads.layer).pipe(Layer.provide(DeploymentScheduler.layer)),
    Events.layer,
    Webhooks.layer,
    ConsoleSessions.layer,
    eventRelayLayer
  ).pipe(
    Layer.provide([
      KeyBuckets.layer,
      KeyUse.layer,
      TrustedClock.layer,
      options.verifyCache === undefined ? VerifyCache.layerDisabled : VerifyCache.layer(options.verifyCache),
      DeliveryWorker.layer,
      Layer.succeed(QuotaThresholds, {
        thresholds:
          typeof options.onQuotaThreshold === "object" ? options.onQuotaThreshold.thresholds : defaultThresholds
      })
    ]),
    Layer.provide(Accounts.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        secretBox,
        Layer.succeed(DeploymentConfig, makeDeploymentConfig({ deployments, publicUrl, sitesUrl })),
        Layer.succeed(Limits, limits),
        Layer.succeed(EventRetention, resolveEventRetention(options.events)),
        Layer.succeed(EventHooks, makeHooks(options)),
        Layer.succeed(WebhookConfig, resolveWebhookOptions(options.webhooks))
      )
    ),
    Layer.provide(outboxStoreLayer),
    Layer.provide(RelaySignals.layer),
    Layer.provide(Layer.provide(countedStoreLayer, Layer.succeed(Limits, limits))),
    Layer.provide(measuredStoreLayer),
    Layer.provideMerge(telemetryLayer)
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
}: Pick<TollgateOptions, "tokens" | "authenticate">): Layer.Layer<Authenticator, ConfigurationError, SecretBox> => {
  if (tokens !== undefined) return Authenticator.layerBearer(tokens)
  if (authenticate === undefined) return Authenticator.layerRejectAll
  const authenticateRequest: Authenticate = (request, context) =>
    Effect.flatMap(
      Effect.promise(async () => authenticate(request, context)),
      acceptPrincipal
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
  /**
   * Re-encrypts every stored key, and the secrets of webhooks, under the primary (first) secret. Safe to run while the
   * server handles requests.
   */
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
   * Creates a link that opens the console without a token: for all accounts with write access, unless the options say less.
   * It works once, within 5 minutes. Rejects with a `ConfigurationError` without the option `console`.
   *
   * @example
   * ```ts
   * const { url } = await gate.createConsoleLink({ account: "acme", access: "read" })
   * ```
   */
  createConsoleLink(options?: ConsoleLinkOptions): Promise<ConsoleLink>
  /** The metrics of this Tollgate in the text format of Prometheus, for a route of your own. */
  metrics(): Promise<string>
  /**
   * Waits up to 5 seconds for requests in flight, and until requests that ended are charged, then stops all background
   * work. A store that you opened stays open; a store that you passed as a layer is closed.
   */
  close(): Promise<void>
}

const makeHandles = Effect.fnUntraced(function* (tasks: BackgroundTasks, host: HostContext) {
  const telemetry = yield* Telemetry
  return makeLocalHandles({
    store: measureStore(yield* Store, telemetry),
    operations: yield* allOperations,
    owners: yield* makeOwners,
    keys: yield* ApiKeys,
    usage: yield* Usage,
    reservations: yield* Reservations,
    uploads: yield* Uploads,
    telemetry,
    tasks,
    host
  })
})

/** `createTollgate`, which loads this module. */
export const openTollgate = async (options: TollgateOptions): Promise<Tollgate> => {
  const unsupportedNode = checkNodeVersion(process.versions.node)
  if (unsupportedNode !== undefined) throw unsupportedNode
  const { store, tokens, authenticate, logger, telemetry, ...rest } = Options.decodeSync(tollgateOptions, options)
  const host = await makeHostContext(logger, telemetry)
  const scope = Scope.makeUnsafe()
  const close = () => run(Scope.close(scope, Exit.void))
  const services = authenticatorLayer({ tokens, authenticate }).pipe(
    Layer.provideMerge(makeServices(rest)),
    Layer.provideMerge(storeLayer(store))
  )
  try {
    const context = await run(Layer.buildWithScope(services, scope), undefined, host.context)
    const { dispatch, dispose } = makeHttpHandlers(Layer.succeedContext(context), rest, host)
    const { handle, drain, count } = trackInFlight(dispatch)
    const { format, observe } = Context.get(context, Telemetry)
    const stopObserving = observe(instruments.httpActiveRequests, count)
    const tasks = makeBackgroundTasks(host.context)
    const deployments = Context.get(context, DeploymentConfig)
    const { matchesRoute } = selectRoutes(rest, deployments)
    const isSitesHost = (host: string): boolean => deployments?.sites?.matchHost(host) !== undefined
    const createLink = makeCreateLink(Context.get(context, ConsoleSessions), {
      isEnabled: rest.console !== undefined,
      publicUrl: rest.publicUrl
    })
    return {
      ...(await run(Effect.provideContext(makeHandles(tasks, host), context))),
      reencryptKeys: () =>
        run(Context.get(context, ApiKeys).reencryptKeys(), undefined, host.withActiveSpan(host.context)),
      handler: async (request, context) => toWebResponse(await handle(fromWebRequest(request, context))),
      dispatch: handle,
      matches: (path, host = "") => isSitesHost(host) || matchesRoute(normalizePath(path.split("?", 1)[0] ?? "")),
      isSitesHost,
      createConsoleLink: (options) => run(createLink(options)),
      metrics: format,
      close: async () => {
        await Promise.all([drain(), tasks.stop(drainTimeoutMs)])
        await dispose()
        await close()
        stopObserving()
      }
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Tollgate for Effect: `Tollgate.layer` provides its services over a store. */
export const Tollgate = { layer }
