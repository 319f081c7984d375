/**
 * Validates the options of a protected route when it is created, and resolves those that are functions of the request.
 */
import { Cause, Effect, Exit, Predicate, Schema } from "effect"
import {
  type AppliedRateLimit,
  type MeteringOptions,
  ParsedAuthorizeOptions,
  type ParsedLimits
} from "../authorize/AuthorizeOptions.ts"
import {
  authorizeFields,
  isRateLimitBy,
  rejectBothRateLimitOptions,
  rejectTwoHomes,
  toParsedLimits
} from "../authorize/authorizeSchemas.ts"
import { makeParseAuthorizeOptions } from "../authorize/parseAuthorizeOptions.ts"
import type { RateLimitPolicy } from "../rateLimits/RateLimit.ts"
import { ConfigurationError } from "../runtime/ConfigurationError.ts"
import { isPlainObject } from "../runtime/isPlainObject.ts"
import * as Options from "../runtime/Options.ts"
import { InvalidInput } from "../schema/InvalidInput.ts"
import type { RequireApiKeyOptions } from "./RequireApiKeyOptions.ts"

type KeyFrom = NonNullable<RequireApiKeyOptions["keyFrom"]>

/** A name that no header can have would throw in some frameworks, and find no key in the others. */
const isHeaderName = (name: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(name)

const keyFrom = Options.value((value): value is KeyFrom => {
  const [[place, name] = [], ...others] = Predicate.isObject(value) ? Object.entries(value) : []
  if (typeof name !== "string" || others.length > 0) return false
  return place === "header" ? isHeaderName(name) : place === "query" && name !== ""
}, "must be { header: name } or { query: name }")

/** The options without those that are functions. */
const staticOptions = Schema.Struct({
  keyFrom: Options.optional(keyFrom),
  charge: Options.optional(Options.literals(["request", "success", "complete"])),
  onStoreUnavailable: Options.optional(Options.literals(["deny", "allow"])),
  ...authorizeFields
}).pipe(Schema.check(rejectBothRateLimitOptions, rejectTwoHomes))

type RequestFunction = (request: unknown) => unknown
type Fields = Readonly<Record<string, unknown>>

const isFunction = (value: unknown): value is RequestFunction => typeof value === "function"

/** The functions of a rate limit, and where it is in the options. */
interface LimitFunctions {
  readonly path: string
  readonly by?: RequestFunction
  readonly cost?: RequestFunction
}

const getLimitFunctions = (rateLimit: unknown, path: string): LimitFunctions => {
  const { by, cost }: Fields = isPlainObject(rateLimit) ? { ...rateLimit } : {}
  return { path, ...(isFunction(by) ? { by } : {}), ...(isFunction(cost) ? { cost } : {}) }
}

/** Leaves out the functions of a rate limit, so that the rest can be validated. */
const omitFunctions = (rateLimit: unknown): unknown =>
  isPlainObject(rateLimit)
    ? Object.fromEntries(
        Object.entries(rateLimit).filter(([name, value]) => !((name === "by" || name === "cost") && isFunction(value)))
      )
    : rateLimit

/** Calls a function of the options. Its errors are the server's, also those of operations that it calls. */
const callFunction = async (call: RequestFunction, request: unknown): Promise<unknown> => {
  try {
    return await call(request)
  } catch (error) {
    throw error instanceof InvalidInput ? new Error("A function of the options failed", { cause: error }) : error
  }
}

const resolveBy = async ({ by, path }: LimitFunctions, limit: AppliedRateLimit, request: unknown) => {
  if (by === undefined) return limit.by
  const result = await callFunction(by, request)
  if (isRateLimitBy(result)) return result
  const problem = 'must return "consumer", "key", or { value } with a non-empty string'
  throw new ConfigurationError({ option: `${path}.by`, problem })
}

const resolveCost = async (
  { cost, path }: LimitFunctions,
  { policy, ...limit }: AppliedRateLimit,
  request: unknown
) => {
  if (cost === undefined) return limit.cost
  const result = await callFunction(cost, request)
  if (typeof result !== "number" || !Number.isSafeInteger(result) || result < 1) {
    throw new ConfigurationError({ option: `${path}.cost`, problem: "must return a positive integer" })
  }
  if (result <= policy.burst) return result
  // The client chose what the request costs.
  const detail = `This request costs ${result}, and the rate limit "${policy.name}" allows ${policy.burst} at once`
  throw new InvalidInput({ errors: [{ detail }], detail })
}

const resolveMetering = async (
  parse: ReturnType<typeof makeParseAuthorizeOptions>,
  metering: RequestFunction,
  limitsIn: string | undefined,
  request: unknown
): Promise<ParsedLimits["metering"]> => {
  const result = (await callFunction(metering, request)) as MeteringOptions | undefined
  const parsed = Effect.runSyncExit(parse({ metering: result, limitsIn }))
  if (Exit.isSuccess(parsed)) return (parsed.value.limits as ParsedLimits).metering
  const error = Cause.squash(parsed.cause)
  const detail = error instanceof InvalidInput ? error.detail : String(error)
  throw new ConfigurationError({ option: "metering", problem: `returned invalid options: ${detail}` })
}

interface RouteOptions {
  readonly keyFrom: KeyFrom | undefined
  readonly onStoreUnavailable: "deny" | "allow" | undefined
  readonly scopes: ReadonlyArray<string> | undefined
  /** The rate limits, and the metering bucket that counts them; `undefined`: the key bucket. */
  readonly policies: ReadonlyArray<RateLimitPolicy>
  readonly limitsIn: string | undefined
  /** The options of `authorize` for a request. */
  readonly toAuthorizeOptions: (request: unknown) => ParsedAuthorizeOptions
}

/** Throws a `ConfigurationError` for an invalid option. */
export const parseRouteOptions = (options: unknown = {}): RouteOptions => {
  const { rateLimit, rateLimits, metering, ...rest }: Fields = isPlainObject(options) ? { ...options } : {}
  const severalLimits = Array.isArray(rateLimits) ? rateLimits : []
  const limitFunctions =
    rateLimit === undefined
      ? severalLimits.map((limit, index) => getLimitFunctions(limit, `rateLimits[${index}]`))
      : [getLimitFunctions(rateLimit, "rateLimit")]
  const withoutFunctions = {
    ...rest,
    rateLimit: omitFunctions(rateLimit),
    rateLimits: Array.isArray(rateLimits) ? severalLimits.map(omitFunctions) : rateLimits,
    metering: isFunction(metering) ? undefined : metering
  }
  const decoded = Options.decodeSync(staticOptions, isPlainObject(options) ? withoutFunctions : options)
  const { keyFrom, onStoreUnavailable, scopes } = decoded
  const { charge = "request" } = decoded
  // A function may return the meters.
  if (charge !== "request" && !isFunction(metering) && decoded.metering?.meters === undefined) {
    throw new ConfigurationError({ option: "charge", problem: `"${charge}" needs metering with meters to charge` })
  }
  const limits = toParsedLimits(decoded)
  if (isFunction(metering) && limits.rateLimits.length > 0 && limits.limitsIn === undefined) {
    const problem =
      "is needed beside rate limits if metering is a function: the id of the metering bucket that it returns"
    throw new ConfigurationError({ option: "limitsIn", problem })
  }
  const parsedOptions = {
    keyFrom,
    onStoreUnavailable,
    scopes,
    policies: limits.rateLimits.map(({ policy }) => policy),
    limitsIn: limits.limitsIn ?? limits.metering?.meteringBucketId
  }
  const hasFunctions =
    isFunction(metering) || limitFunctions.some(({ by, cost }) => by !== undefined || cost !== undefined)
  if (!hasFunctions) {
    const parsed = new ParsedAuthorizeOptions(scopes, limits, charge)
    return { ...parsedOptions, toAuthorizeOptions: () => parsed }
  }

  const parse = makeParseAuthorizeOptions()
  const resolveLimits = async (request: unknown): Promise<ParsedLimits> => {
    const [resolvedMetering, ...resolvedLimits] = await Promise.all([
      isFunction(metering) ? resolveMetering(parse, metering, limits.limitsIn, request) : limits.metering,
      ...limits.rateLimits.map(async (limit, index): Promise<AppliedRateLimit> => {
        const functions = limitFunctions[index] ?? { path: "" }
        const [by, cost] = [await resolveBy(functions, limit, request), await resolveCost(functions, limit, request)]
        return { policy: limit.policy, by, cost }
      })
    ])
    return { rateLimits: resolvedLimits, metering: resolvedMetering, limitsIn: limits.limitsIn }
  }
  return {
    ...parsedOptions,
    toAuthorizeOptions: (request) => new ParsedAuthorizeOptions(scopes, () => resolveLimits(request), charge)
  }
}
