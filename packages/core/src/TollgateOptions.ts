/**
 * The options of `createTollgate` and `Tollgate.layer`, and their schemas. `SecretBox` checks the secrets themselves.
 */

import {
  type HostLogger,
  hostLogger,
  isBaseUrl,
  KeyPrefix,
  type KeyStorage,
  keyPrefixForm,
  Options,
  type Store,
  type StoreOperations
} from "@tollgate/store/internal"
import { Layer, Schema } from "effect"
import { type BearerToken, bearerTokens } from "./access/BearerToken.ts"
import type { PrincipalInput } from "./access/Principal.ts"
import { coreLimits, type LimitDescriptions, type LimitOptions, makeLimitOptions } from "./accounts/limits/Limits.ts"
import { addNeeded, isModule, modulesOption } from "./assembly/modulesOption.ts"
import type { OnDecision } from "./authorize/decisionHooks.ts"
import type { HttpOptions } from "./Http.ts"
import { type VerifyCacheOptions, verifyCacheOptions } from "./keys/VerifyCache.ts"
import type { QuotaEvent } from "./metering/usage/QuotaThresholds.ts"
import type { Module } from "./modules/Module.ts"
import type { EventJson } from "./outbox/Event.ts"
import { type EventRetentionOptions, eventRetentionOptions } from "./outbox/EventRetention.ts"
import { type TelemetryOptions, telemetryOptions } from "./telemetry/makeHostContext.ts"

type PrincipalJson = typeof PrincipalInput.Encoded
type AuthenticateOption = (
  request: Request,
  // biome-ignore lint/suspicious/noExplicitAny: its type depends on the framework; annotate the parameter
  context: any
) => PrincipalJson | undefined | Promise<PrincipalJson | undefined>

export interface QuotaThresholdOptions {
  /** Shares of the quota: numbers greater than 0 and at most 1. */
  readonly thresholds: ReadonlyArray<number>
  readonly notify: (event: QuotaEvent) => void | Promise<void>
}

/** The options of `Tollgate.layer`, which `createTollgate` takes too. */
export interface ServiceOptions<M extends Module = Module> {
  /**
   * The secret that keys are hashed and encrypted with: at least 32 random characters, such as the output of
   * `openssl rand -base64 32`. Keep it out of the code.
   *
   * Of several secrets, the first is the primary secret: new keys use it, and all are accepted. To rotate the secret,
   * pass `[oldSecret, newSecret]` in every process, then `[newSecret, oldSecret]`, call `gate.reencryptKeys()`, then
   * remove the old secret. With a single process, start with `[newSecret, oldSecret]`.
   */
  readonly secret: string | ReadonlyArray<string> | undefined
  /** The prefix of generated key values. Default: `tg`. */
  readonly keyPrefix?: string | undefined
  /** `encrypted` (the default) stores key values, so that they can be shown again; `hash-only` stores only hashes. */
  readonly keyStorage?: KeyStorage | undefined
  /** Caches the results of verifying keys in memory. Off by default. */
  readonly verifyCache?: VerifyCacheOptions | undefined
  /** Maximum numbers of records per account; each limit has a default. Example: `{ projectsPerAccount: 20 }`. */
  readonly limits?: LimitOptions | undefined
  /** How long events are kept. Default: changes for 90 days, events of the system for 30, and 100,000 of each in an account. */
  readonly events?: EventRetentionOptions | undefined
  /**
   * Called for each event of every account: at least once, in the order of the account's log, in one of the processes that
   * have it. If it throws or rejects, it is called again, up to five times in 15 seconds. Only for events since the option
   * was first set.
   */
  readonly onEvent?: ((event: EventJson) => void | Promise<void>) | undefined
  /**
   * Called after each decision on a request, in this process; not awaited. What it throws is logged, once a minute. It is on the
   * path of every request, so note what you need and work later.
   */
  readonly onDecision?: OnDecision | undefined
  /**
   * Called when the used share of a quota reaches a threshold, as `onEvent` is. There is one event per period, meter and
   * threshold. Default thresholds: 0.8 and 1.
   */
  readonly onQuotaThreshold?: QuotaThresholdOptions["notify"] | QuotaThresholdOptions | undefined
  /**
   * Whether this process does background work: sends webhooks, calls `onEvent`, ends trials, runs deployments, and takes over
   * what other processes leave. Default: true. Set it to `false` in scripts and functions that only call: what they cause, a
   * process with background work does within seconds, and `close` returns at once.
   */
  readonly background?: boolean | undefined
  /**
   * What this Tollgate has beside keys, metering and events: `webhooks()`, `deployments(…)`, `adminConsole()`, `openTelemetry()`,
   * or modules of your own. Default: none.
   */
  readonly modules?: ReadonlyArray<M> | undefined
  /** The public URL of the HTTP API, including the path it is mounted at: `https://example.com/api/dev`. */
  readonly publicUrl?: string | undefined
}

/** The options of `createTollgate`. `store` and `secret` are required. */
export interface TollgateOptions<M extends Module = Module> extends ServiceOptions<M>, HttpOptions {
  /** A store that you open and close yourself, or a layer, which is built now and closed by `close()`. */
  readonly store: StoreOperations | Layer.Layer<Store, unknown>
  /** The management tokens of the HTTP API. Without `tokens` and `authenticate`, every request is rejected with 401. */
  readonly tokens?: ReadonlyArray<BearerToken> | undefined
  /**
   * Authenticates a request to the HTTP API yourself. Return `undefined` to reject it with 401. `context` is your
   * framework's own request: `req` in Express and Node, `ctx` in Koa, `request` in Fastify, or what the option `context` of
   * the binding returns.
   */
  readonly authenticate?: AuthenticateOption | undefined
  /**
   * Where Tollgate logs: an object with the methods `debug`, `info`, `warn` and `error`, such as the console or a logger of
   * pino or winston. Default: lines of JSON on the standard error.
   */
  readonly logger?: HostLogger | undefined
  /** What spans may contain. A module makes spans appear, such as `openTelemetry()` of `@tollgate/opentelemetry`. */
  readonly telemetry?: TelemetryOptions | undefined
}

const quotaThresholdOptions = Options.struct<QuotaThresholdOptions>()({
  thresholds: Options.value(
    (value): value is ReadonlyArray<number> =>
      Array.isArray(value) && value.every((share) => typeof share === "number" && share > 0 && share <= 1),
    "must be an array of numbers greater than 0 and at most 1"
  ),
  notify: Options.callback<QuotaThresholdOptions["notify"]>("must be a function that takes the event")
})

/** An HTTP URL without query and fragment. */
const baseUrl = Options.string("must be a URL such as https://example.com/api/dev", isBaseUrl)

/** The schemas of the options, whose limits are those of core and of the modules. */
const makeServiceFields = (limits: LimitDescriptions) => ({
  secret: Options.value(
    (value): value is string | ReadonlyArray<string> =>
      [value].flat().every((secret: unknown) => typeof secret === "string"),
    "must have at least 32 characters, or be an array of such secrets; Tollgate hashes and encrypts keys with it"
  ),
  keyPrefix: Options.optional(Options.string(`must be ${keyPrefixForm}`, Schema.is(KeyPrefix))),
  keyStorage: Options.optional(Options.literals(["encrypted", "hash-only"])),
  verifyCache: Options.optional(verifyCacheOptions),
  limits: Options.optional(makeLimitOptions(limits)),
  events: Options.optional(eventRetentionOptions),
  onEvent: Options.optional(
    Options.callback<NonNullable<ServiceOptions["onEvent"]>>("must be a function that takes the event")
  ),
  onDecision: Options.optional(Options.callback<OnDecision>("must be a function that takes the decision")),
  onQuotaThreshold: Options.optional(
    Schema.Union([
      Options.callback<QuotaThresholdOptions["notify"]>(
        "must be a function that takes the event, or { thresholds, notify }"
      ),
      quotaThresholdOptions
    ])
  ),
  background: Options.optional(Options.literals([true, false], "must be true or false")),
  modules: modulesOption<Module>("webhooks() of @tollgate/webhooks"),
  publicUrl: Options.optional(baseUrl)
})

const isStore = (value: unknown): value is StoreOperations | Layer.Layer<Store, unknown> =>
  Layer.isLayer(value) ||
  Options.hasMethods(value, "get", "getByUniqueKey", "list", "search", "counters", "commit", "clear")

/** The limits of core and of the modules in options that are not validated yet. */
export const getLimits = (options: unknown): LimitDescriptions => {
  const modules = typeof options === "object" && options !== null && "modules" in options ? options.modules : []
  const limits = Array.isArray(modules)
    ? addNeeded<Module>(modules.filter(isModule)).map((module) => module.limits)
    : []
  return Object.assign({}, coreLimits, ...limits)
}

export const makeServiceOptions = (limits: LimitDescriptions) =>
  Options.struct<ServiceOptions>()(makeServiceFields(limits))

export const makeTollgateOptions = (limits: LimitDescriptions) =>
  Options.struct<TollgateOptions>()({
    store: Options.value(isStore, (value) =>
      Options.hasMethods(value, "then")
        ? "is a promise; await it, as in store: await SqliteStore.open(…)"
        : "must be a store, such as MemoryStore.open(), or a layer of one"
    ),
    tokens: Options.optional(bearerTokens),
    authenticate: Options.optional(
      Options.callback<AuthenticateOption>(
        "must be a function that takes the request and returns { id, account, access } or undefined"
      )
    ),
    bodyLimit: Options.optional(Options.positiveInteger("must be a number of bytes, a positive integer")),
    docs: Options.optional(Options.literals([true, false, "protected"], 'must be true, false or "protected"')),
    metrics: Options.optional(Options.literals([true, false], "must be true or false")),
    logger: Options.optional(hostLogger),
    telemetry: Options.optional(telemetryOptions),
    ...makeServiceFields(limits)
  }).check(
    Schema.makeFilter(
      ({ tokens, authenticate }) =>
        tokens === undefined ||
        authenticate === undefined || { path: ["authenticate"], issue: "excludes tokens; set one of the two, not both" }
    )
  )
