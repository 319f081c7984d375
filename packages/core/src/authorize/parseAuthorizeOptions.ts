/**
 * Validates the options of `authorize`. An unknown name is refused: with a mistyped `metering`, nothing would be counted.
 */
import { Effect, Exit, Schema } from "effect"
import { parseAmounts } from "../metering/Quota.ts"
import type { RateLimitPolicy } from "../rateLimits/RateLimit.ts"
import { RequiredScopes } from "../records/Scope.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { isPlainObject } from "../runtime/isPlainObject.ts"
import { makeDecoder } from "../schema/decodeInput.ts"
import { type InvalidInput, invalidParameter } from "../schema/InvalidInput.ts"
import {
  type AppliedRateLimit,
  type AuthorizeOptions,
  type MeteringOptions,
  ParsedAuthorizeOptions,
  type ParsedLimits,
  type RateLimitOptions
} from "./AuthorizeOptions.ts"
import { AuthorizeInput, authorizeFields, rateLimitOptionFields, toParsedOptions } from "./authorizeSchemas.ts"

const noOptions = new ParsedAuthorizeOptions()

export const parseAuthorizeOptions = (
  options: AuthorizeOptions | ParsedAuthorizeOptions | undefined
): Effect.Effect<ParsedAuthorizeOptions, InvalidInput> => {
  if (options === undefined) return Effect.succeed(noOptions)
  if (options instanceof ParsedAuthorizeOptions) return Effect.succeed(options)
  const parsed = parseFast(options)
  return parsed === undefined ? decode(options) : Effect.succeed(parsed)
}

const decodeOptions = makeDecoder(AuthorizeInput, "parameters", { onExcessProperty: "error" })

const decode = (options: AuthorizeOptions): Effect.Effect<ParsedAuthorizeOptions, InvalidInput> => {
  if (!isPlainObject(options)) return Effect.fail(invalidParameter("options", "must be a plain object"))
  return Exit.map(decodeOptions(options), (input) => {
    const parsed = toParsedOptions(input)
    if (input.rateLimit !== undefined && typeof parsed.limits === "object") {
      const [applied] = parsed.limits.rateLimits
      if (applied !== undefined) validPolicies.set(toPolicyKey(input.rateLimit), applied.policy)
    }
    return parsed
  })
}

/** The policies that were validated, by their numbers as they were given: the same options come with every request. */
const validPolicies = new BoundedMap<string, RateLimitPolicy>(1_000)

const toPolicyKey = ({ name, limit, per, burst }: RateLimitOptions): string =>
  // Told apart from a limit with the name "undefined".
  `${name === undefined ? "" : `"${name}"`} ${limit} ${per} ${typeof per} ${burst}`

/**
 * Validates by hand, because a schema takes longer than the decision itself. Returns `undefined` for all options that it
 * does not know to be valid.
 */
const parseFast = (options: AuthorizeOptions): ParsedAuthorizeOptions | undefined => {
  if (!isPlainObject(options)) return undefined
  for (const name in options) if (!Object.hasOwn(authorizeFields, name)) return undefined
  const { scopes, rateLimit, rateLimits, metering, limitsIn } = options
  if (rateLimits !== undefined || (scopes !== undefined && !isRequiredScopes(scopes))) return undefined
  if (limitsIn !== undefined && (typeof limitsIn !== "string" || metering !== undefined)) return undefined
  const parsedLimit = rateLimit === undefined ? undefined : parseRateLimitFast(rateLimit)
  if (parsedLimit === undefined && rateLimit !== undefined) return undefined
  const parsedMetering = metering === undefined ? undefined : parseMeteringFast(metering)
  if (parsedMetering === undefined && metering !== undefined) return undefined
  return new ParsedAuthorizeOptions(scopes === undefined ? undefined : [...scopes], {
    rateLimits: parsedLimit === undefined ? [] : [parsedLimit],
    metering: parsedMetering,
    limitsIn
  })
}

const isRequiredScopes = Schema.is(RequiredScopes)

const parseRateLimitFast = (rateLimit: RateLimitOptions): AppliedRateLimit | undefined => {
  if (typeof rateLimit !== "object" || rateLimit === null) return undefined
  for (const name in rateLimit) if (!Object.hasOwn(rateLimitOptionFields, name)) return undefined
  const { name, limit, per, burst, by = "consumer", cost = 1 } = rateLimit
  const hasTypes =
    typeof limit === "number" &&
    (typeof per === "string" || typeof per === "number") &&
    (name === undefined || typeof name === "string") &&
    (burst === undefined || typeof burst === "number")
  const policy = hasTypes ? validPolicies.get(toPolicyKey(rateLimit)) : undefined
  if (policy === undefined || !Number.isSafeInteger(cost) || cost < 1 || cost > policy.burst) return undefined
  return by === "consumer" || by === "key" ? { policy, by, cost } : undefined
}

const parseMeteringFast = (metering: MeteringOptions): ParsedLimits["metering"] => {
  if (typeof metering !== "object" || metering === null) return undefined
  const { meteringBucketId, meters, ...rest } = metering
  const amounts = parseAmounts(meters)
  return typeof meteringBucketId === "string" && amounts !== undefined && Reflect.ownKeys(rest).length === 0
    ? { meteringBucketId, meters: amounts }
    : undefined
}
