/**
 * The options of `requireApiKey`. They are those of `authorize`, where some may be functions of the request, validated
 * when the route is created.
 */
import { Cause, Effect, Exit, Predicate, Schema } from "effect"
import {
  type AppliedRateLimit,
  type AuthorizeOptions,
  authorizeFields,
  isRateLimitBy,
  type MeteringOptions,
  ParsedAuthorizeOptions,
  parseAuthorizeOptions,
  type RateLimitBy,
  type RateLimitOptions,
  singleOrSeveral,
  toParsed
} from "../authorize/AuthorizeOptions.ts"
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import * as Options from "../runtime/Options.ts"
import { omitUndefined } from "../runtime/omitUndefined.ts"
import { InvalidInput } from "../schema/InvalidInput.ts"

/** A value, or a function of your framework's request that returns it. */
type FromRequest<Request, A> = A | ((request: Request) => A | Promise<A>)

export interface RouteRateLimit<Request> extends Omit<RateLimitOptions, "by" | "cost"> {
  /** Default: `"consumer"`. */
  readonly by?: FromRequest<Request, RateLimitBy> | undefined
  /** How many requests this one counts as. Default: 1. A request that costs more than the burst is refused with 400. */
  readonly cost?: FromRequest<Request, number> | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: each binding says what its request is
export interface RequireApiKeyOptions<Request = any> extends Pick<AuthorizeOptions, "scopes"> {
  /** One rate limit, with the name `default`. Example: `{ limit: 10, per: "second" }`. */
  readonly rateLimit?: RouteRateLimit<Request> | undefined
  /** Up to 10 rate limits with names. */
  readonly rateLimits?: ReadonlyArray<RouteRateLimit<Request> & { readonly name: string }> | undefined
  /**
   * Requires a subscription of the consumer in this metering bucket, and counts meters on it. A function that returns
   * `undefined` leaves the request unmetered.
   */
  readonly metering?: FromRequest<Request, MeteringOptions | undefined> | undefined
  /** The header or query parameter that contains the key. Default: `Authorization: Bearer`. */
  readonly keyFrom?: { readonly header: string } | { readonly query: string } | undefined
  /**
   * What to do with a well-formed key while the store cannot be reached. `deny` (the default) responds with 503. `allow`
   * passes the request on, without a consumer and without counting it: use it where an outage of the store must not be
   * an outage of the route.
   */
  readonly onStoreUnavailable?: "deny" | "allow" | undefined
}

type KeyFrom = NonNullable<RequireApiKeyOptions["keyFrom"]>

/** A name that no header can have would throw in some frameworks, and find no key in the others. */
const isHeaderName = (name: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(name)

const keyFrom = Options.value((value): value is KeyFrom => {
  const [[place, name] = [], ...others] = Predicate.isObject(value) ? Object.entries(value) : []
  if (typeof name !== "string" || others.length > 0) return false
  return place === "header" ? isHeaderName(name) : place === "query" && name !== ""
}, "must be { header: name } or { query: name }")

const staticOptions = Schema.Struct({
  keyFrom: Options.optional(keyFrom),
  onStoreUnavailable: Options.optional(Options.literals(["deny", "allow"])),
  ...authorizeFields
}).pipe(Schema.check(singleOrSeveral))

type RequestFunction = (request: unknown) => unknown

const toFunction = (value: unknown): RequestFunction | undefined =>
  typeof value === "function" ? (value as RequestFunction) : undefined

/** The functions of a rate limit. */
interface LimitFunctions {
  readonly by: RequestFunction | undefined
  readonly cost: RequestFunction | undefined
}

const toLimitFunctions = (rateLimit: unknown): LimitFunctions =>
  Predicate.isObject(rateLimit)
    ? { by: toFunction(Reflect.get(rateLimit, "by")), cost: toFunction(Reflect.get(rateLimit, "cost")) }
    : { by: undefined, cost: undefined }

/** Leaves out the functions, so that the rest can be validated. */
const omitFunctions = (value: unknown): unknown =>
  Predicate.isObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([, item]) => typeof item !== "function"))
    : value

const callWith = async (call: RequestFunction, request: unknown): Promise<unknown> => call(request)

const resolveBy = async (by: RequestFunction, request: unknown): Promise<RateLimitBy> => {
  const result = await callWith(by, request)
  if (isRateLimitBy(result)) return result
  const problem = 'must return "consumer", "key" or { value } with a text that is not empty'
  throw new ConfigurationError({ option: "rateLimit.by", problem })
}

const resolveCost = async (cost: RequestFunction, { policy }: AppliedRateLimit, request: unknown): Promise<number> => {
  const result = await callWith(cost, request)
  if (typeof result !== "number" || !Number.isSafeInteger(result) || result < 1) {
    throw new ConfigurationError({ option: "rateLimit.cost", problem: "must return a positive integer" })
  }
  if (result <= policy.burst) return result
  const detail = `This request costs ${result}, and the rate limit "${policy.name}" allows ${policy.burst} at once`
  throw new InvalidInput({ errors: [{ detail }], detail })
}

const resolveLimit = async (
  limit: AppliedRateLimit,
  { by, cost }: LimitFunctions,
  request: unknown
): Promise<AppliedRateLimit> => ({
  policy: limit.policy,
  by: by === undefined ? limit.by : await resolveBy(by, request),
  cost: cost === undefined ? limit.cost : await resolveCost(cost, limit, request)
})

const resolveMetering = async (metering: RequestFunction, request: unknown) => {
  const result = (await callWith(metering, request)) as MeteringOptions | undefined
  const parsed = Effect.runSyncExit(parseAuthorizeOptions({ metering: result }))
  if (Exit.isSuccess(parsed)) return parsed.value.metering
  const error = Cause.squash(parsed.cause)
  throw new ConfigurationError({
    option: "metering",
    problem: `returned what is not valid: ${error instanceof InvalidInput ? error.detail : "see its type"}`
  })
}

interface ResolvedOptions {
  readonly authorizeOptions: ParsedAuthorizeOptions
  /** Set if the request costs more than a limit allows at once. Then the options only check the key and its scopes. */
  readonly tooCostly?: InvalidInput
}

export interface ParsedRouteOptions {
  readonly keyFrom: KeyFrom | undefined
  readonly onStoreUnavailable: "deny" | "allow" | undefined
  /** The options of `authorize` for a request. Not a promise if no option is a function. */
  readonly resolve: (request: unknown) => ResolvedOptions | Promise<ResolvedOptions>
}

/** Validates the options once. Throws a `ConfigurationError`. */
export const parseRouteOptions = (options: unknown): ParsedRouteOptions => {
  const { rateLimit, rateLimits, metering, ...rest }: Readonly<Record<string, unknown>> = Predicate.isObject(options)
    ? { ...options }
    : {}
  const limits = rateLimit === undefined ? (Array.isArray(rateLimits) ? rateLimits : []) : [rateLimit]
  const limitFunctions = limits.map(toLimitFunctions)
  const meteringFunction = toFunction(metering)
  const withoutFunctions = {
    ...rest,
    ...omitUndefined({
      rateLimit: omitFunctions(rateLimit),
      rateLimits: Array.isArray(rateLimits) ? rateLimits.map(omitFunctions) : rateLimits,
      metering: meteringFunction === undefined ? metering : undefined
    })
  }
  const isObjectOrAbsent = options === undefined || Predicate.isObject(options)
  const decoded = Options.decodeSync(staticOptions, isObjectOrAbsent ? withoutFunctions : options)
  const parsed = toParsed(decoded)

  const resolve = async (request: unknown): Promise<ResolvedOptions> => {
    const { scopes } = parsed
    try {
      const limits = parsed.rateLimits.map((limit, index) =>
        resolveLimit(limit, limitFunctions[index] ?? noFunctions, request)
      )
      const [metering, ...rateLimits] = await Promise.all([
        meteringFunction === undefined ? parsed.metering : resolveMetering(meteringFunction, request),
        ...limits
      ])
      return { authorizeOptions: new ParsedAuthorizeOptions({ scopes, rateLimits, metering }) }
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error
      return { authorizeOptions: new ParsedAuthorizeOptions({ scopes }), tooCostly: error }
    }
  }

  const resolved = { authorizeOptions: parsed }
  const isStatic =
    meteringFunction === undefined && limitFunctions.every(({ by, cost }) => by === undefined && cost === undefined)
  return {
    keyFrom: decoded.keyFrom,
    onStoreUnavailable: decoded.onStoreUnavailable,
    resolve: isStatic ? () => resolved : resolve
  }
}

const noFunctions: LimitFunctions = { by: undefined, cost: undefined }
