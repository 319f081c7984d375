/**
 * `authorize` as a promise, with a fast path because servers call it for every request.
 */
import { DateTime, Effect, Schema } from "effect"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import type { KeyRefusalReason, Verified } from "../keys/Verification.ts"
import { type AuthorizeResult, makeAuthorize } from "../metering/authorize.ts"
import { Amounts, encodeQuotas, parseAmounts, type QuotasJson } from "../metering/Quota.ts"
import type { Usage } from "../metering/Usage.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import * as Options from "../runtime/Options.ts"
import { omitUndefined } from "../runtime/omitUndefined.ts"
import { invalidParameters } from "../schema/InvalidInput.ts"
import { runPossiblySync } from "./run.ts"

export interface AuthorizeOptions {
  /** The meters to consume and their metering bucket. Without it, `authorize` only verifies the key. */
  readonly metering?:
    | { readonly meteringBucketId: string; readonly meters: Readonly<Record<string, number>> }
    | undefined
}

type Consumer = (typeof Verified.Encoded)["consumer"]

export type AuthorizeResultJson =
  | { readonly allowed: true; readonly consumer: Consumer; readonly keyId: string; readonly quotas?: QuotasJson }
  | { readonly allowed: false; readonly reason: KeyRefusalReason }
  | {
      readonly allowed: false
      readonly reason: "no-subscription" | "subscription-not-active"
      readonly consumer: Consumer
    }
  | {
      readonly allowed: false
      readonly reason: "over-quota"
      readonly consumer: Consumer
      readonly meter: string
      readonly max: number
      readonly resetsOn: string
    }

const Metering = Schema.Struct({ meteringBucketId: Schema.String, meters: Amounts })

const decodeOptions = Schema.decodeUnknownEffect(Schema.Struct({ metering: Schema.optionalKey(Metering) }), {
  onExcessProperty: "error"
})

/** The schemas of `AuthorizeOptions`. A protected route checks its options with them when it is created. */
export const authorizeFields = { metering: Options.optional(Metering) }

/** Reports what is wrong with the options. An unknown name is refused: with a mistyped `metering`, nothing is counted. */
const validateOptions = (options: unknown) =>
  Effect.mapError(
    decodeOptions(
      typeof options === "object" && options !== null
        ? Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
        : options
    ),
    invalidParameters
  )

type ParsedMetering = { readonly meteringBucketId: string; readonly meters: Amounts }

/** Validates by hand, because a schema is too slow for every request. */
const parseMeteringFast = (metering: unknown): ParsedMetering | undefined => {
  if (typeof metering !== "object" || metering === null) return undefined
  const { meteringBucketId, meters, ...rest } = metering as Readonly<Record<string, unknown>>
  const amounts = parseAmounts(meters)
  const isValid = typeof meteringBucketId === "string" && amounts !== undefined && Reflect.ownKeys(rest).length === 0
  return isValid ? { meteringBucketId, meters: amounts } : undefined
}

/** Returns `undefined` for options that need the full validation, which reports what is wrong. */
const parseOptionsFast = (
  options: AuthorizeOptions | undefined
): { readonly metering?: ParsedMetering } | undefined => {
  if (options === undefined) return {}
  if (typeof options !== "object" || options === null) return undefined
  for (const name in options) if (name !== "metering") return undefined
  if (options.metering === undefined) return {}
  const metering = parseMeteringFast(options.metering)
  return metering === undefined ? undefined : { metering }
}

const encode = (result: AuthorizeResult): AuthorizeResultJson => {
  if (result.allowed) {
    const { quotas, ...rest } = result
    return { ...rest, ...omitUndefined({ quotas: quotas === undefined ? undefined : encodeQuotas(quotas) }) }
  }
  return result.reason === "over-quota" ? { ...result, resetsOn: DateTime.formatIso(result.resetsOn) } : result
}

/** Makes the `authorize` method of key buckets. */
export const makeAuthorizeMethod = (keys: ApiKeys["Service"], usage: Usage["Service"]) => {
  const authorize = makeAuthorize(keys, usage)
  return (bucket: KeyBucket) =>
    (key: string | undefined, options?: AuthorizeOptions): Promise<AuthorizeResultJson> => {
      try {
        // A value that is not a string is treated like any other invalid key.
        const request = { bucket, key: typeof key === "string" ? key : "" }
        const parsed = parseOptionsFast(options)
        const result =
          parsed === undefined
            ? Effect.flatMap(validateOptions(options), (options) => authorize({ ...request, ...options }))
            : authorize({ ...request, ...parsed })
        return runPossiblySync(Effect.map(result, encode))
      } catch (error) {
        // A proxy as options may throw.
        return Promise.reject(error)
      }
    }
}
