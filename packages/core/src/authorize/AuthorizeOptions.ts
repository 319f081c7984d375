/**
 * The options of `authorize`: what a request needs beside a valid key. They are validated for each call, or once for a
 * protected route.
 */
import { Effect, Schema } from "effect"
import { RequiredScopes } from "../keys/scopes.ts"
import { Amounts, parseAmounts } from "../metering/Quota.ts"
import { type RateLimitPolicy, rateLimitCheck, rateLimitFields, toPolicy } from "../rateLimits/RateLimit.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import * as Options from "../runtime/Options.ts"
import { omitUndefined } from "../runtime/omitUndefined.ts"
import { type InvalidInput, invalidParameters } from "../schema/InvalidInput.ts"
import { MeterName } from "../schema/Names.ts"

/** Whose requests share a rate limit: those of the consumer, of the key, or all with the same value. */
export type RateLimitBy = "consumer" | "key" | { readonly value: string }

export interface RateLimitOptions {
  /** How many requests are allowed in each `per`: 1 to 1,000,000. */
  readonly limit: number
  /** A unit, or a number of milliseconds. */
  readonly per: "second" | "minute" | "hour" | "day" | number
  /** How many requests are allowed at once. Default: `limit`. */
  readonly burst?: number | undefined
  /** Default: `"consumer"`. */
  readonly by?: RateLimitBy | undefined
  /** How many requests this one counts as. Default: 1. */
  readonly cost?: number | undefined
}

export interface NamedRateLimitOptions extends RateLimitOptions {
  /** Appears in the `RateLimit` headers and in refusals. Limits with the same name and numbers are one limit. */
  readonly name: string
}

export interface MeteringOptions {
  readonly meteringBucketId: string
  /** The amount to count on each meter. Without it, only the subscription and the rate limits of its plans are checked. */
  readonly meters?: Readonly<Record<string, number>> | undefined
}

export interface AuthorizeOptions {
  /** The scopes that the key must have, all of them. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** One rate limit, with the name `default`. */
  readonly rateLimit?: RateLimitOptions | undefined
  /** Up to 10 rate limits with names. */
  readonly rateLimits?: ReadonlyArray<NamedRateLimitOptions> | undefined
  /** Requires a subscription of the consumer in this metering bucket, and counts meters on it. */
  readonly metering?: MeteringOptions | undefined
}

/** The name of a single rate limit. */
const defaultName = "default"

/** A rate limit of a call, validated. */
export interface AppliedRateLimit {
  readonly policy: RateLimitPolicy
  readonly by: RateLimitBy
  readonly cost: number
}

/** Validated options. `authorize` takes them as they are, so that a protected route validates its options only once. */
export class ParsedAuthorizeOptions {
  readonly scopes: ReadonlyArray<string>
  readonly rateLimits: ReadonlyArray<AppliedRateLimit>
  readonly metering: { readonly meteringBucketId: string; readonly meters?: Amounts | undefined } | undefined

  constructor({ scopes, rateLimits, metering }: Partial<ParsedAuthorizeOptions> = {}) {
    this.scopes = scopes ?? []
    this.rateLimits = rateLimits ?? []
    this.metering = metering
  }
}

const By = Schema.Union([
  Schema.Literals(["consumer", "key"]),
  Schema.Struct({ value: Schema.String.pipe(Schema.check(Schema.isMinLength(1))) })
])

export const isRateLimitBy: (value: unknown) => value is RateLimitBy = Schema.is(By)

const limitFields = {
  ...rateLimitFields,
  by: Schema.optionalKey(By),
  cost: Schema.optionalKey(Schema.Int.pipe(Schema.check(Schema.isGreaterThanOrEqualTo(1))))
}

/** A request that costs more than the burst could never pass. */
const costCheck = Schema.makeFilter(
  ({ limit, burst = limit, cost = 1 }: { readonly limit: number; readonly burst?: number; readonly cost?: number }) =>
    cost <= burst ? undefined : { path: ["cost"], issue: `must be at most the burst, which is ${burst}` }
)

const RateLimitInput = Schema.Struct(limitFields).pipe(Schema.check(rateLimitCheck, costCheck))
const NamedRateLimitInput = Schema.Struct({ name: MeterName, ...limitFields }).pipe(
  Schema.check(rateLimitCheck, costCheck)
)
type NamedRateLimitInput = typeof NamedRateLimitInput.Type

const toApplied = ({ name, by = "consumer", cost = 1, ...rateLimit }: NamedRateLimitInput): AppliedRateLimit => {
  const policy = toPolicy(name, rateLimit)
  validPolicies.set(toPolicyKey(name, rateLimit), policy)
  return { policy, by, cost }
}

/** The policies that were validated, by their numbers as they were given: the same options come with every request. */
const validPolicies = new BoundedMap<string, RateLimitPolicy>(1_000)

const toPolicyKey = (name: string, { limit, per, burst }: RateLimitOptions): string =>
  `${name} ${limit} ${per} ${typeof per} ${burst}`

const isSamePolicy = (left: RateLimitPolicy, right: RateLimitPolicy): boolean =>
  left.limit === right.limit && left.per === right.per && left.burst === right.burst

/** Outsiders know a limit by its name, so one name cannot stand for different numbers. */
const uniqueNames = Schema.makeFilter((inputs: ReadonlyArray<NamedRateLimitInput>) => {
  const policies = inputs.map((input) => toApplied(input).policy)
  const index = policies.findIndex((policy, index) =>
    policies.slice(0, index).some((other) => other.name === policy.name && !isSamePolicy(other, policy))
  )
  return index < 0
    ? undefined
    : { path: [index, "name"], issue: "is the name of another limit with other numbers; choose another name" }
})

const NamedRateLimitInputs = Schema.Array(NamedRateLimitInput).pipe(Schema.check(Schema.isMaxLength(10), uniqueNames))

const Metering = Schema.Struct({ meteringBucketId: Schema.String, meters: Options.optional(Amounts) })

/** The schemas of `AuthorizeOptions`. */
export const authorizeFields = {
  scopes: Options.optional(RequiredScopes),
  rateLimit: Options.optional(RateLimitInput),
  rateLimits: Options.optional(NamedRateLimitInputs),
  metering: Options.optional(Metering)
}

/** One of the two: with both, `default` could be twice. */
export const singleOrSeveral = Schema.makeFilter(
  ({ rateLimit, rateLimits }: { readonly rateLimit?: unknown; readonly rateLimits?: unknown }) =>
    rateLimit === undefined || rateLimits === undefined
      ? undefined
      : { path: ["rateLimit"], issue: "excludes rateLimits; set one of the two, not both" }
)

const AuthorizeInput = Schema.Struct(authorizeFields).pipe(Schema.check(singleOrSeveral))
type AuthorizeInput = typeof AuthorizeInput.Type

export const toParsed = ({ scopes, rateLimit, rateLimits, metering }: AuthorizeInput): ParsedAuthorizeOptions =>
  new ParsedAuthorizeOptions({
    ...omitUndefined({ scopes }),
    rateLimits:
      rateLimit === undefined ? (rateLimits ?? []).map(toApplied) : [toApplied({ ...rateLimit, name: defaultName })],
    metering
  })

const decodeOptions = Schema.decodeUnknownEffect(AuthorizeInput, { onExcessProperty: "error" })

const noOptions = new ParsedAuthorizeOptions()

/** Validates options. An unknown name is refused: with a mistyped `metering`, nothing would be counted. */
export const parseAuthorizeOptions = (
  options: AuthorizeOptions | ParsedAuthorizeOptions | undefined
): Effect.Effect<ParsedAuthorizeOptions, InvalidInput> => {
  if (options === undefined) return Effect.succeed(noOptions)
  if (options instanceof ParsedAuthorizeOptions) return Effect.succeed(options)
  const parsed = parseFast(options)
  return parsed === undefined
    ? Effect.mapBoth(decodeOptions(options), { onSuccess: toParsed, onFailure: invalidParameters })
    : Effect.succeed(parsed)
}

/**
 * Validates by hand, because a schema takes longer than the decision itself. Returns `undefined` for all options that it
 * does not know to be valid.
 */
const parseFast = (options: unknown): ParsedAuthorizeOptions | undefined => {
  if (typeof options !== "object" || options === null) return undefined
  for (const name in options) if (!Object.hasOwn(authorizeFields, name)) return undefined
  const { scopes, rateLimit, rateLimits, metering } = options as AuthorizeOptions
  if (rateLimits !== undefined || (scopes !== undefined && !isRequiredScopes(scopes))) return undefined
  const parsedLimit = rateLimit === undefined ? undefined : parseRateLimitFast(rateLimit)
  const parsedMetering = metering === undefined ? undefined : parseMeteringFast(metering)
  if (parsedLimit === undefined && rateLimit !== undefined) return undefined
  if (parsedMetering === undefined && metering !== undefined) return undefined
  return new ParsedAuthorizeOptions({
    ...(scopes === undefined ? {} : { scopes: [...scopes] }),
    ...(parsedLimit === undefined ? {} : { rateLimits: [parsedLimit] }),
    metering: parsedMetering
  })
}

const isRequiredScopes = Schema.is(RequiredScopes)

const parseRateLimitFast = (rateLimit: RateLimitOptions): AppliedRateLimit | undefined => {
  if (typeof rateLimit !== "object" || rateLimit === null) return undefined
  for (const name in rateLimit) if (!Object.hasOwn(limitFields, name)) return undefined
  const { limit, burst, by = "consumer", cost = 1 } = rateLimit
  if (typeof limit !== "number" || (burst !== undefined && typeof burst !== "number")) return undefined
  const policy = validPolicies.get(toPolicyKey(defaultName, rateLimit))
  if (policy === undefined || !Number.isSafeInteger(cost) || cost < 1 || cost > policy.burst) return undefined
  return by === "consumer" || by === "key" ? { policy, by, cost } : undefined
}

const parseMeteringFast = (metering: MeteringOptions): ParsedAuthorizeOptions["metering"] => {
  if (typeof metering !== "object" || metering === null) return undefined
  const { meteringBucketId, meters, ...rest } = metering
  const amounts = parseAmounts(meters)
  return typeof meteringBucketId === "string" && amounts !== undefined && Reflect.ownKeys(rest).length === 0
    ? { meteringBucketId, meters: amounts }
    : undefined
}
