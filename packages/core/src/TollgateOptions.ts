/**
 * The options of `createTollgate`, and the checks of their types. The values are validated where they are used.
 */
import type { Layer } from "effect"
import type { BearerToken } from "./access/Authenticator.ts"
import type { PrincipalShape } from "./access/Principal.ts"
import type { KeyStorage } from "./crypto/SecretBox.ts"
import type { DeploymentConfigOptions } from "./deployments/config/DeploymentConfig.ts"
import type { HttpOptions } from "./Http.ts"
import type { VerifyCacheOptions } from "./keys/VerifyCache.ts"
import type { QuotaEvent } from "./metering/QuotaThresholds.ts"
import { ConfigurationError } from "./runtime/ConfigurationError.ts"
import type { LimitOptions } from "./runtime/Limits.ts"
import type { Store, StoreOperations } from "./store/Store.ts"

type PrincipalJson = typeof PrincipalShape.Encoded

export interface ServiceOptions extends DeploymentConfigOptions {
  /**
   * The secret that keys are hashed and encrypted with: at least 32 random characters, such as the output of
   * `openssl rand -base64 32`. Keep it out of the code.
   *
   * Of several secrets, the first is the primary secret: new keys use it, and all are accepted. To rotate the secret,
   * pass `[oldSecret, newSecret]` in every process, then `[newSecret, oldSecret]`, call `keys.reencryptKeys()`, then
   * remove the old secret. With a single process, start with `[newSecret, oldSecret]`.
   */
  readonly secret: string | ReadonlyArray<string> | undefined
  /** The prefix of generated key values. Default: `tg`. */
  readonly keyPrefix?: string
  /** `encrypted` (the default) stores key values, so that they can be shown again; `hash-only` stores only hashes. */
  readonly keyStorage?: KeyStorage
  /** Caches the results of `keys.verify` in memory. Off by default. */
  readonly verifyCache?: VerifyCacheOptions
  /** Maximum numbers of records per account; each limit has a default. Example: `{ projectsPerAccount: 20 }`. */
  readonly limits?: LimitOptions | undefined
  /**
   * Called when the used share of a quota reaches a threshold: once per period, meter and threshold, in the process
   * that consumed the quota. Default thresholds: 0.8 and 1. Errors that it throws are logged and do not affect the
   * request.
   */
  readonly onQuotaThreshold?:
    | ((event: QuotaEvent) => void | Promise<void>)
    | { readonly thresholds: ReadonlyArray<number>; readonly notify: (event: QuotaEvent) => void | Promise<void> }
}

export interface TollgateOptions extends ServiceOptions, HttpOptions {
  /** A store that you open and close yourself, or a layer, which is built now and closed by `close()`. */
  readonly store: StoreOperations | Layer.Layer<Store, unknown>
  /** The management tokens of the HTTP API. Without `tokens` and `authenticate`, every request is rejected with 401. */
  readonly tokens?: ReadonlyArray<BearerToken>
  /**
   * Authenticates a request to the HTTP API yourself. Return `undefined` to reject it with 401. `context` is your
   * framework's own request: `req` in Express and Node, `ctx` in Koa, or what the option `context` of the binding returns.
   */
  readonly authenticate?: (
    request: Request,
    // biome-ignore lint/suspicious/noExplicitAny: its type depends on the framework; annotate the parameter
    context: any
  ) => PrincipalJson | undefined | Promise<PrincipalJson | undefined>
}

/** A record rather than an array, so that the compiler reports a missing option. */
const optionNames: Readonly<Record<keyof TollgateOptions, true>> = {
  store: true,
  secret: true,
  tokens: true,
  authenticate: true,
  keyPrefix: true,
  keyStorage: true,
  verifyCache: true,
  onQuotaThreshold: true,
  bodyLimit: true,
  docs: true,
  limits: true,
  deployments: true,
  publicUrl: true,
  sitesUrl: true
}

const isFunction = (value: unknown): boolean => typeof value === "function"

/** Checks the names and types of the options; returns the first error. */
export const validateOptions = (options: TollgateOptions): ConfigurationError | undefined => {
  const configurationError = (option: string, problem: string) => new ConfigurationError({ option, problem })
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name))
  if (unknown !== undefined)
    return configurationError(unknown, `unknown option; the options are ${Object.keys(optionNames).join(", ")}`)
  const { bodyLimit, store, authenticate, onQuotaThreshold, docs } = options
  if (bodyLimit !== undefined && !(Number.isSafeInteger(bodyLimit) && bodyLimit > 0)) {
    return configurationError("bodyLimit", "must be a number of bytes, a positive integer")
  }
  if (docs !== undefined && typeof docs !== "boolean" && docs !== "protected") {
    return configurationError("docs", 'must be true, false or "protected"')
  }
  if (isFunction((store as { readonly then?: unknown } | undefined)?.then)) {
    return configurationError("store", "is a promise; await it, as in store: await SqliteStore.open(…)")
  }
  if (authenticate !== undefined && !isFunction(authenticate)) {
    return configurationError(
      "authenticate",
      "must be a function that takes the request and returns { id, account, access } or undefined"
    )
  }
  if (
    onQuotaThreshold !== undefined &&
    !isFunction(typeof onQuotaThreshold === "function" ? onQuotaThreshold : onQuotaThreshold?.notify)
  ) {
    return configurationError("onQuotaThreshold", "must be a function that takes the event, or { thresholds, notify }")
  }
  return undefined
}
