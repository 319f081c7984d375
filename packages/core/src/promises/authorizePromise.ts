/**
 * `authorize` as a promise, with a fast path because servers call it for every request.
 */
import { Cause, DateTime, Effect, Exit, Schema } from "effect"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import type { Verified } from "../keys/Verification.ts"
import { type AuthorizeResult, makeAuthorize } from "../metering/authorize.ts"
import { Amounts, encodeQuotas, parseAmounts } from "../metering/Quota.ts"
import type { Usage } from "../metering/Usage.ts"
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import { omitUndefined } from "../runtime/omitUndefined.ts"
import { InvalidInput, parameterIssues } from "../schema/InvalidInput.ts"
import { AccountName, KeyBucketName } from "../schema/Names.ts"
import type { QuotasJson } from "./meteringPromise.ts"
import * as Promises from "./Promises.ts"

export interface AuthorizeInput {
  readonly account: string
  /** The key bucket that contains the key. */
  readonly bucket: string
  readonly key: string
  /** The meters to consume and their metering bucket. Without it, `authorize` only verifies the key. */
  readonly metering?: { readonly meteringBucketId: string; readonly meters: Readonly<Record<string, number>> }
}

type Consumer = (typeof Verified.Encoded)["consumer"]

export type AuthorizeResultJson =
  | { readonly allowed: true; readonly consumer: Consumer; readonly keyId: string; readonly quotas?: QuotasJson }
  | { readonly allowed: false; readonly reason: "invalid-key" }
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
const decodeMetering = Promises.makeParameterDecoder(Schema.Struct({ metering: Metering }))
const allowedParameters = new Set(["account", "bucket", "key", "metering"])

/** The `authorize` options of a protected route; the key comes with each request. */
export type AuthorizeOptions = Omit<AuthorizeInput, "key">

const decodeOptions = Schema.decodeUnknownExit(
  Schema.Struct({ account: AccountName, bucket: KeyBucketName, metering: Schema.optionalKey(Metering) }),
  { onExcessProperty: "error" }
)

/**
 * Validates the options of a protected route when the route is created, not on its first request. `routeOptions` are
 * the names of further options that the route accepts.
 */
export const checkAuthorizeOptions = (
  options: object,
  routeOptions: ReadonlyArray<string> = []
): ConfigurationError | undefined => {
  const allowed = ["account", "bucket", "metering", ...routeOptions]
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  const unknown = entries.find(([name]) => !allowed.includes(name))
  if (unknown !== undefined) {
    const problem = `unknown option; the options are ${allowed.join(", ")}`
    return new ConfigurationError({ option: unknown[0], problem })
  }
  const exit = decodeOptions(Object.fromEntries(entries.filter(([name]) => !routeOptions.includes(name))))
  if (Exit.isSuccess(exit)) return undefined
  const error = Cause.squash(exit.cause)
  const [issue] = error instanceof Schema.SchemaError ? parameterIssues(error) : []
  return new ConfigurationError({ option: issue?.parameter || "options", problem: issue?.detail ?? "is not valid" })
}

/**
 * Validates by hand, because a schema is too slow for every request. If it returns `undefined`, the schema reports why.
 */
const parseMeteringFast = (
  metering: unknown
): { readonly meteringBucketId: string; readonly meters: Amounts } | undefined => {
  if (typeof metering !== "object" || metering === null) return undefined
  const { meteringBucketId, meters, ...rest } = metering as Readonly<Record<string, unknown>>
  const amounts = parseAmounts(meters)
  const isValid = typeof meteringBucketId === "string" && amounts !== undefined && Reflect.ownKeys(rest).length === 0
  return isValid ? { meteringBucketId, meters: amounts } : undefined
}

/** Finds an unknown parameter: with a mistyped `metering`, usage would go uncounted. */
const findUnknownParameter = (input: object): InvalidInput | undefined => {
  for (const parameter of Object.keys(input)) {
    if (!allowedParameters.has(parameter))
      return new InvalidInput({ errors: [{ parameter, detail: "unknown parameter" }] })
  }
  return undefined
}

const encode = (result: AuthorizeResult): AuthorizeResultJson => {
  if (result.allowed) {
    const { quotas, ...rest } = result
    return { ...rest, ...omitUndefined({ quotas: quotas === undefined ? undefined : encodeQuotas(quotas) }) }
  }
  return result.reason === "over-quota" ? { ...result, resetsOn: DateTime.formatIso(result.resetsOn) } : result
}

export const authorizePromise = (keys: ApiKeys["Service"], usage: Usage["Service"]) => {
  const authorize = makeAuthorize(keys, usage)

  /** Validates the input completely and reports what is wrong. */
  const validateAndAuthorize = (input: AuthorizeInput) =>
    Effect.gen(function* () {
      const unknown = findUnknownParameter(input)
      if (unknown !== undefined) return yield* unknown
      const bucket = yield* Promises.decodeKeyBucket(input.account, input.bucket)
      // A value that is not a string is treated like any other invalid key.
      const request = { bucket, key: typeof input.key === "string" ? input.key : "" }
      if (input.metering === undefined) return yield* authorize(request)
      const metering =
        parseMeteringFast(input.metering) ?? (yield* decodeMetering({ metering: input.metering })).metering
      return yield* authorize({ ...request, metering })
    })

  /** Authorizes without the overhead of a generator; `undefined` if the input needs the full validation. */
  const tryFastPath = (input: AuthorizeInput) => {
    if (typeof input !== "object" || input === null || findUnknownParameter(input) !== undefined) return undefined
    const bucket = Promises.cachedKeyBucket(input.account, input.bucket)
    const metering = parseMeteringFast(input.metering)
    const isSimple = bucket !== undefined && metering !== undefined && typeof input.key === "string"
    return isSimple ? authorize({ bucket, key: input.key, metering }) : undefined
  }

  return (input: AuthorizeInput): Promise<AuthorizeResultJson> =>
    Promises.runPossiblySync(
      Effect.map(
        Effect.suspend(() => tryFastPath(input) ?? validateAndAuthorize(input)),
        encode
      )
    )
}
