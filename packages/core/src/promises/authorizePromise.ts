/**
 * `authorize` for callers outside Effect.
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
  readonly bucket: string
  readonly key: string
  /** What to count, and where; without it, the key is verified and nothing more. */
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
const decodeMetering = Promises.decodeParameters(Schema.Struct({ metering: Metering }))
const allowedParameters = new Set(["account", "bucket", "key", "metering"])

/** The options of a protected route that are those of `authorize`. */
export type AuthorizeOptions = Omit<AuthorizeInput, "key">

const decodeOptions = Schema.decodeUnknownExit(
  Schema.Struct({ account: AccountName, bucket: KeyBucketName, metering: Schema.optionalKey(Metering) }),
  { onExcessProperty: "error" }
)

/** What is wrong with the options of a protected route, told when the route is made. `known` are those of its own. */
export const checkAuthorizeOptions = (
  options: object,
  known: ReadonlyArray<string> = []
): ConfigurationError | undefined => {
  const allowed = ["account", "bucket", "metering", ...known]
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const unknown = given.find(([name]) => !allowed.includes(name))
  if (unknown !== undefined) {
    const problem = `there is no such option; there are ${allowed.join(", ")}`
    return new ConfigurationError({ option: unknown[0], problem })
  }
  const exit = decodeOptions(Object.fromEntries(given.filter(([name]) => !known.includes(name))))
  if (Exit.isSuccess(exit)) return undefined
  const error = Cause.squash(exit.cause)
  const [place] = error instanceof Schema.SchemaError ? parameterIssues(error) : []
  return new ConfigurationError({ option: place?.parameter || "options", problem: place?.detail ?? "it is not valid" })
}

/** Copied and checked by hand: it is done for every request. What is none is left to the schema, to say why. */
const parseMeteringFast = (
  metering: unknown
): { readonly meteringBucketId: string; readonly meters: Amounts } | undefined => {
  if (typeof metering !== "object" || metering === null) return undefined
  const { meteringBucketId, meters, ...rest } = metering as Readonly<Record<string, unknown>>
  const amounts = parseAmounts(meters)
  const isWhole = typeof meteringBucketId === "string" && amounts !== undefined && Reflect.ownKeys(rest).length === 0
  return isWhole ? { meteringBucketId, meters: amounts } : undefined
}

/** Refuses what nobody knows: a mistyped `metering` must not let use go uncounted. */
const findUnknownParameter = (input: object): InvalidInput | undefined => {
  for (const parameter of Object.keys(input)) {
    if (!allowedParameters.has(parameter))
      return new InvalidInput({ errors: [{ parameter, detail: "there is no such parameter" }] })
  }
  return undefined
}

const encode = (authorization: AuthorizeResult): AuthorizeResultJson => {
  if (authorization.allowed) {
    const { quotas, ...rest } = authorization
    return { ...rest, ...omitUndefined({ quotas: quotas === undefined ? undefined : encodeQuotas(quotas) }) }
  }
  return authorization.reason === "over-quota"
    ? { ...authorization, resetsOn: DateTime.formatIso(authorization.resetsOn) }
    : authorization
}

export const authorizePromise = (keys: ApiKeys["Service"], usage: Usage["Service"]) => {
  const authorize = makeAuthorize(keys, usage)

  /** Says what is wrong with the input, if anything is. */
  const authorizeValidated = (input: AuthorizeInput) =>
    Effect.gen(function* () {
      const unknown = findUnknownParameter(input)
      if (unknown !== undefined) return yield* unknown
      const bucket = yield* Promises.keyBucket(input.account, input.bucket)
      // Whatever is no text is no key, and is told so like any other.
      const request = { bucket, key: typeof input.key === "string" ? input.key : "" }
      if (input.metering === undefined) return yield* authorize(request)
      const metering =
        parseMeteringFast(input.metering) ?? (yield* decodeMetering({ metering: input.metering })).metering
      return yield* authorize({ ...request, metering })
    })

  /** What every request asks, without a generator for it; nothing, where it must be looked at more closely. */
  const tryFastPath = (input: AuthorizeInput) => {
    if (typeof input !== "object" || input === null || findUnknownParameter(input) !== undefined) return undefined
    const bucket = Promises.cachedKeyBucket(input.account, input.bucket)
    const metering = parseMeteringFast(input.metering)
    const isPlain = bucket !== undefined && metering !== undefined && typeof input.key === "string"
    return isPlain ? authorize({ bucket, key: input.key, metering }) : undefined
  }

  return (input: AuthorizeInput): Promise<AuthorizeResultJson> =>
    Promises.runPossiblySync(
      Effect.map(
        Effect.suspend(() => tryFastPath(input) ?? authorizeValidated(input)),
        encode
      )
    )
}
