/**
 * What a host says when it makes a Tollgate, and what is wrong with it as such: what each option means is checked where it
 * is used.
 */
import type { Layer } from "effect"
import type { BearerToken } from "./access/Authenticator.ts"
import type { PrincipalShape } from "./access/Principal.ts"
import type { KeyStorage } from "./crypto/SecretBox.ts"
import type { DeploymentConfigOptions } from "./deployments/ports/DeploymentConfig.ts"
import type { HttpOptions } from "./Http.ts"
import type { VerifyCacheOptions } from "./keys/VerifyCache.ts"
import type { QuotaEvent } from "./metering/QuotaThresholds.ts"
import { ConfigurationError } from "./runtime/ConfigurationError.ts"
import type { LimitOptions } from "./runtime/Limits.ts"
import type { Store, StoreOperations } from "./store/Store.ts"

type PrincipalJson = typeof PrincipalShape.Encoded

export interface ServiceOptions extends DeploymentConfigOptions {
  /**
   * What keys are hashed and encrypted with: at least 32 random characters, such as `openssl rand -base64 32` prints,
   * kept out of the code. To replace it, give the new one first and the old one behind it, run `reencryptKeys`, then take the
   * old one away.
   */
  readonly secret: string | ReadonlyArray<string> | undefined
  /** What key values begin with: `tg`, unless said otherwise. */
  readonly keyPrefix?: string
  /** `sealed` (the default) keeps values so that they can be shown again; `hashed` keeps none. */
  readonly keyStorage?: KeyStorage
  /** Keeps the answers of `verify` in the process for a while. Off by default. */
  readonly verifyCache?: VerifyCacheOptions
  /** How much one account may hold; each limit has a default. `{ projectsPerAccount: 20 }` sets one. */
  readonly limits?: LimitOptions | undefined
  /**
   * Called when a quota has been used up to a share of it: once for each period, meter and share, from whichever
   * process counted. The shares are 0.8 and 1, unless said otherwise. What it throws is logged, and stops nothing.
   */
  readonly onQuotaThreshold?:
    | ((event: QuotaEvent) => void | Promise<void>)
    | { readonly thresholds: ReadonlyArray<number>; readonly notify: (event: QuotaEvent) => void | Promise<void> }
}

export interface TollgateOptions extends ServiceOptions, HttpOptions {
  /** A store that you opened, and will close; or a layer, which is built now and closed with the gate. */
  readonly store: StoreOperations | Layer.Layer<Store, unknown>
  /** Who may call over HTTP. Without this and without `authenticate`, nobody may. */
  readonly tokens?: ReadonlyArray<BearerToken>
  /** Your own way to tell who is calling over HTTP; undefined is answered with 401. */
  readonly authenticate?: (request: Request) => PrincipalJson | undefined | Promise<PrincipalJson | undefined>
}

/** Every option there is. */
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

/** What is wrong with the options as such. */
export const validateOptions = (options: TollgateOptions): ConfigurationError | undefined => {
  const configurationError = (option: string, problem: string) => new ConfigurationError({ option, problem })
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name))
  if (unknown !== undefined)
    return configurationError(unknown, `there is no such option; there are ${Object.keys(optionNames).join(", ")}`)
  const { bodyLimit: limit, store, authenticate, onQuotaThreshold, docs } = options
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0)) {
    return configurationError("bodyLimit", "give a number of bytes, an integer from 1")
  }
  if (docs !== undefined && typeof docs !== "boolean" && docs !== "protected") {
    return configurationError("docs", 'give true, false or "protected"')
  }
  if (isFunction((store as { readonly then?: unknown } | undefined)?.then)) {
    return configurationError("store", "it is a promise: await it, as in store: await SqliteStore.open(…)")
  }
  if (authenticate !== undefined && !isFunction(authenticate)) {
    return configurationError(
      "authenticate",
      "give a function of the request, which says { id, account, access }, or nothing"
    )
  }
  if (
    onQuotaThreshold !== undefined &&
    !isFunction(typeof onQuotaThreshold === "function" ? onQuotaThreshold : onQuotaThreshold?.notify)
  ) {
    return configurationError("onQuotaThreshold", "give a function of the event, or { thresholds, notify }")
  }
  return undefined
}
