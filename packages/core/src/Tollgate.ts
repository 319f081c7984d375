/**
 * The entry points: `Tollgate.layer` for Effect programs, and `createTollgate` with a promise API for all others.
 */

import {
  type BackgroundTasks,
  ConfigurationError,
  checkNodeVersion,
  fromWebRequest,
  makeBackgroundTasks,
  Options,
  run,
  SecretBox,
  Store,
  type StoreError,
  settleWithin,
  skipChecks,
  type TransportRequest,
  type TransportResponse,
  TrustedClock,
  toWebResponse
} from "@tollgate/store/internal"
import { Context, Effect, Exit, Layer, Redacted, Schema, Scope, Stream } from "effect"
import { type Authenticate, Authenticator } from "./access/Authenticator.ts"
import { acceptPrincipal } from "./access/acceptPrincipal.ts"
import type { BearerToken } from "./access/BearerToken.ts"
import { findUnknown } from "./access/permissions.ts"
import { Accounts } from "./accounts/Accounts.ts"
import type { AccountsMethods } from "./accounts/AccountsApi.ts"
import { Limits, resolveLimits } from "./accounts/limits/Limits.ts"
import { listPermissions } from "./api/listPermissions.ts"
import { type CoreServices, coreParts, mergeRecords } from "./assembly/coreParts.ts"
import { addNeeded } from "./assembly/modulesOption.ts"
import { DecisionObservers } from "./authorize/DecisionObservers.ts"
import { Decisions } from "./authorize/Decisions.ts"
import { decisionHooksLayer } from "./authorize/decisionHooks.ts"
import { Consumers } from "./consumers/Consumers.ts"
import { Events } from "./events/Events.ts"
import { type Assembled, assemble, type HttpOptions, makeHttp } from "./Http.ts"
import { normalizePath } from "./http/normalizePath.ts"
import { Background } from "./jobs/Background.ts"
import { jobsLayer } from "./jobs/jobsLayer.ts"
import { ApiKeys } from "./keys/ApiKeys.ts"
import { KeyBuckets } from "./keys/KeyBuckets.ts"
import { KeyUse } from "./keys/KeyUse.ts"
import type { ReencryptResult } from "./keys/reencryptKeys.ts"
import { registerPrimarySecret } from "./keys/secretRecords.ts"
import { VerifyCache } from "./keys/VerifyCache.ts"
import { Alerts } from "./metering/alerts/Alerts.ts"
import { MeteringBuckets } from "./metering/buckets/MeteringBuckets.ts"
import { Grants } from "./metering/credits/Grants.ts"
import { Customers } from "./metering/customers/Customers.ts"
import { UseRecorder } from "./metering/groups/UseRecorder.ts"
import { UsageHistory } from "./metering/history/UsageHistory.ts"
import { Plans } from "./metering/plans/Plans.ts"
import { Reservations } from "./metering/reservations/Reservations.ts"
import { Subscriptions } from "./metering/subscriptions/Subscriptions.ts"
import { defaultThresholds, type QuotaEvent, QuotaThresholds } from "./metering/usage/QuotaThresholds.ts"
import { Usage } from "./metering/usage/Usage.ts"
import type { AccountOf, GateOf, Module, ServicesOf } from "./modules/Module.ts"
import { Modules } from "./modules/Modules.ts"
import { PublicUrl } from "./modules/PublicUrl.ts"
import { Event } from "./outbox/Event.ts"
import { EventRetention, resolveEventRetention } from "./outbox/EventRetention.ts"
import { outboxStoreLayer } from "./outbox/outboxStore.ts"
import { AllWorkRecords } from "./outbox/WorkRecords.ts"
import { type LocalAccountHandle, makeLocalHandles } from "./promises/makeLocalHandles.ts"
import { type EventHook, EventHooks } from "./relay/EventHooks.ts"
import { eventRelayLayer } from "./relay/EventRelay.ts"
import { EventSinks } from "./relay/EventSinks.ts"
import { countedStoreLayer } from "./storage/countedStore.ts"
import {
  getLimits,
  makeServiceOptions,
  makeTollgateOptions,
  type ServiceOptions,
  type TollgateOptions
} from "./TollgateOptions.ts"
import { instruments } from "./telemetry/instruments.ts"
import { type HostContext, makeHostContext } from "./telemetry/makeHostContext.ts"
import { measuredStoreLayer } from "./telemetry/measureStore.ts"
import { Telemetry, telemetryLayer } from "./telemetry/Telemetry.ts"

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

/** What decides on requests, what counts for customers, and the services that both need. */
const decisionLayers = Layer.mergeAll(Decisions.layer, Customers.layer, Grants.layer, Alerts.layer).pipe(
  Layer.provideMerge(Reservations.layer),
  Layer.provideMerge(Layer.mergeAll(ApiKeys.layer, Usage.layer, UsageHistory.layer, DecisionObservers.layer))
)

/** Builds the services of core. */
const makeCoreServices = (options: ServiceOptions) =>
  Layer.mergeAll(
    Accounts.layer,
    KeyBuckets.layer,
    Layer.provide(Consumers.layer, [MeteringBuckets.layer, Subscriptions.layer]),
    MeteringBuckets.layer,
    Plans.layer,
    Subscriptions.layer,
    Events.layer,
    decisionLayers,
    decisionHooksLayer(options.onDecision).pipe(Layer.provide(DecisionObservers.layer))
  ).pipe(
    Layer.provide([
      KeyBuckets.layer,
      KeyUse.layer,
      UseRecorder.layer,
      TrustedClock.layer,
      options.verifyCache === undefined ? VerifyCache.layerDisabled : VerifyCache.layer(options.verifyCache),
      Layer.succeed(QuotaThresholds, {
        thresholds:
          typeof options.onQuotaThreshold === "object" ? options.onQuotaThreshold.thresholds : defaultThresholds
      })
    ]),
    Layer.provide(Accounts.layer)
  )

/** The sinks of all modules, whose services are in the context. */
const eventSinksLayer = Layer.effect(
  EventSinks,
  Effect.flatMap(Modules, (modules) => Effect.all(modules.flatMap(({ eventSink }) => eventSink ?? [])))
)

type DecodedServiceOptions = ReturnType<typeof makeServiceOptions>["Type"]

const makeServices = ({
  secret,
  ...options
}: DecodedServiceOptions): Layer.Layer<CoreServices | SecretBox, ConfigurationError | StoreError, Store> => {
  const modules = addNeeded(options.modules ?? [])
  const limits = resolveLimits(getLimits(options), options.limits)
  const secretBox = SecretBox.layer({
    secrets: redactSecrets(secret),
    keyStorage: options.keyStorage,
    prefix: options.keyPrefix
  }).pipe(Layer.tap((context) => registerPrimarySecret(Context.get(context, SecretBox))))
  const listPartitions = (accountName: string) =>
    Stream.flatMap(
      Stream.fromIterable([coreParts, ...modules]),
      ({ partitions }) => partitions?.(accountName) ?? Stream.empty
    )
  const [firstModule = Layer.empty, ...otherModules] = modules.flatMap(({ layer }) => layer ?? [])
  return eventRelayLayer.pipe(
    Layer.provide(eventSinksLayer),
    Layer.provideMerge(Layer.mergeAll(firstModule, ...otherModules)),
    Layer.provideMerge(makeCoreServices({ ...options, secret: undefined })),
    Layer.provideMerge(
      Layer.mergeAll(
        secretBox,
        Layer.succeed(Modules, modules),
        Layer.succeed(PublicUrl, options.publicUrl?.replace(/\/+$/, "")),
        Layer.succeed(Limits, limits),
        Layer.succeed(EventRetention, resolveEventRetention(options.events)),
        Layer.succeed(EventHooks, makeHooks(options))
      )
    ),
    Layer.provide(outboxStoreLayer),
    Layer.provide(
      Layer.succeed(
        AllWorkRecords,
        modules.flatMap(({ work }) => work ?? [])
      )
    ),
    Layer.provide(jobsLayer),
    Layer.provide(Layer.succeed(Background, options.background ?? true)),
    Layer.provide(Layer.provide(countedStoreLayer(listPartitions), Layer.succeed(Limits, limits))),
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
const layer = <M extends Module = never>(
  options: ServiceOptions<M>
): Layer.Layer<CoreServices | ServicesOf<M> | SecretBox, ConfigurationError | StoreError, Store> =>
  // Evaluated now, so that the layer holds the derived keys and not the secrets.
  Layer.unwrap(Exit.map(Options.decode(makeServiceOptions(getLimits(options)), options), makeServices)) as never

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

/** What every Tollgate in process has, whatever its modules are. */
export interface CoreTollgate {
  /** All accounts. */
  readonly accounts: AccountsMethods
  /**
   * Re-encrypts every stored key, and the secrets of modules, under the primary (first) secret. Safe to run while the
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
   * well, because on a host of a module, such as `sitesUrl` of deployments, every path belongs to Tollgate.
   */
  matches(path: string, host?: string): boolean
  /** Whether the value of a `Host` header is a host that serves nothing but a module, such as one of `sitesUrl`. */
  ownsHost(host: string): boolean
  /** The metrics of this Tollgate in the text format of Prometheus, for a route of your own. */
  metrics(): Promise<string>
  /**
   * Waits up to 5 seconds for requests in flight, and until requests that ended are charged, then stops all background
   * work. A store that you opened stays open; a store that you passed as a layer is closed.
   */
  close(): Promise<void>
}

/**
 * A Tollgate in this process, with a promise API. `M` is the union of its modules, whose methods it has:
 * `Tollgate<Webhooks | Deployments>`.
 */
export type Tollgate<M extends Module = never> = CoreTollgate &
  GateOf<M> & {
    /** The handle of an account: everything that belongs to it. Throws if the name is invalid. */
    account(name: string): LocalAccountHandle & AccountOf<M>
  }

const makeHandles = Effect.fnUntraced(function* (assembled: Assembled, tasks: BackgroundTasks, host: HostContext) {
  const telemetry = yield* Telemetry
  return makeLocalHandles({
    ...assembled,
    added: mergeRecords((yield* Modules).map(({ account = {} }) => account)),
    store: yield* Store,
    keys: yield* ApiKeys,
    meteringBuckets: yield* MeteringBuckets,
    usage: yield* Usage,
    reservations: yield* Reservations,
    telemetry,
    observers: (yield* DecisionObservers).all,
    tasks,
    host
  })
})

/** Re-encrypts keys, and what modules have encrypted. */
const reencryptAll = Effect.gen(function* () {
  const { reencryptKeys } = yield* ApiKeys
  const others = Effect.all((yield* Modules).flatMap(({ reencrypt }) => reencrypt ?? []))
  const context = yield* Effect.context<never>()
  return yield* reencryptKeys(
    Effect.provideContext(
      Effect.map(others, (outcomes) => outcomes.flat()),
      context
    )
  )
})

/** Fails if a token has a permission that no operation needs. */
const checkPermissions = (
  { descriptions }: Assembled,
  tokens: ReadonlyArray<BearerToken>
): Effect.Effect<void, ConfigurationError> => {
  const known = listPermissions(descriptions)
  const unknown = findUnknown(
    tokens.flatMap(({ permissions = [] }) => permissions),
    known
  )
  if (unknown === undefined) return Effect.void
  const problem = `nothing needs the permission ${unknown}; it is misspelt, or its module is missing. Known are ${known.join(", ")}`
  return Effect.fail(new ConfigurationError({ option: "tokens", problem }))
}

/** Everything that a Tollgate in process offers, over services that were built. */
const makeGate = Effect.fnUntraced(function* (
  { tokens = [], ...options }: HttpOptions & Pick<TollgateOptions, "tokens">,
  tasks: BackgroundTasks,
  host: HostContext
) {
  const assembled = yield* assemble
  yield* checkPermissions(assembled, tokens)
  const modules = yield* Modules
  const gate = {
    http: yield* makeHttp(assembled, options, host),
    handles: yield* makeHandles(assembled, tasks, host),
    added: Object.assign({}, ...(yield* Effect.all(modules.flatMap(({ gate }) => gate ?? []))))
  }
  if (modules.length > 0) yield* Effect.logInfo(`Modules: ${modules.map(({ name }) => name).join(", ")}`)
  return gate
})

/** `createTollgate`, which loads this module. */
export const openTollgate = async (options: TollgateOptions): Promise<Tollgate> => {
  const unsupportedNode = checkNodeVersion(process.versions.node)
  if (unsupportedNode !== undefined) throw unsupportedNode
  const { store, tokens, authenticate, logger, telemetry, ...rest } = Options.decodeSync(
    makeTollgateOptions(getLimits(options)),
    options
  )
  const [bridge] = (rest.modules ?? []).flatMap((module) => module.telemetry?.() ?? [])
  const host = makeHostContext(logger, telemetry, bridge)
  const scope = Scope.makeUnsafe()
  const close = () => run(Scope.close(scope, Exit.void))
  const services = authenticatorLayer({ tokens, authenticate }).pipe(
    Layer.provideMerge(makeServices(rest)),
    Layer.provideMerge(storeLayer(store))
  )
  try {
    const context = await run(Layer.buildWithScope(services, scope), undefined, host.context)
    const tasks = makeBackgroundTasks(host.context)
    const { http, handles, added } = await run(
      Effect.provideContext(makeGate({ ...rest, tokens }, tasks, host), context),
      undefined,
      host.context
    )
    const { handle, drain, count } = trackInFlight(http.dispatch)
    const { format, observe } = Context.get(context, Telemetry)
    const stopObserving = observe(instruments.httpActiveRequests, count)
    return {
      ...handles,
      ...added,
      reencryptKeys: () =>
        run(Effect.provideContext(reencryptAll, context), undefined, host.withActiveSpan(host.context)),
      handler: async (request, context) => toWebResponse(await handle(fromWebRequest(request, context))),
      dispatch: handle,
      matches: (path, host = "") => http.matches(normalizePath(path.split("?", 1)[0] ?? ""), host),
      ownsHost: http.isOwnHost,
      metrics: format,
      close: async () => {
        await Promise.all([drain(), tasks.stop(drainTimeoutMs)])
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
