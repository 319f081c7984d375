/**
 * Validates the options of a protected route when it is created, and resolves those that are functions of the request.
 */

import { ConfigurationError, InvalidInput } from "@tollgate/core"
import { Amounts } from "@tollgate/core/effect"
import {
  type AppliedRateLimit,
  authorizeFields,
  hasAtMost,
  isPlainObject,
  isRateLimitBy,
  type MeteringOptions,
  makeParseAuthorizeOptions,
  maxLabelCharacters,
  Options,
  ParsedAuthorizeOptions,
  type ParsedLimits,
  type RateLimitPolicy,
  rejectBothRateLimitOptions,
  rejectTwoHomes,
  toParsedLimits
} from "@tollgate/core/internal"
import { Cause, Exit, Predicate, Schema } from "effect"
import type { RequireApiKeyOptions } from "./RequireApiKeyOptions.ts"

type KeyFrom = NonNullable<RequireApiKeyOptions["keyFrom"]>

/** A name that no header can have would throw in some frameworks, and find no key in the others. */
export const isHeaderName = (name: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(name)

const keyFrom = Options.value((value): value is KeyFrom => {
  const [[place, name] = [], ...others] = Predicate.isObject(value) ? Object.entries(value) : []
  if (typeof name !== "string" || others.length > 0) return false
  return place === "header" ? isHeaderName(name) : place === "query" && name !== ""
}, "must be { header: name } or { query: name }")

type RequestFunction = (request: unknown) => unknown

/** The options without those that may be functions. */
const staticOptions = Schema.Struct({
  keyFrom: Options.optional(keyFrom),
  charge: Options.optional(Options.literals(["request", "success", "complete"])),
  onStoreUnavailable: Options.optional(Options.literals(["deny", "allow"])),
  ip: Options.optional(Options.callback<RequestFunction>("must be a function that takes the request")),
  onRefused: Options.optional(
    Options.callback<NonNullable<RequireApiKeyOptions["onRefused"]>>(
      "must be a function that takes the decision and the request"
    )
  ),
  reserve: Options.optional(Amounts),
  ...authorizeFields
}).pipe(Schema.check(rejectBothRateLimitOptions, rejectTwoHomes))

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

/** The error of a function that has returned something invalid. */
const toReturnError = (option: string, what: string, cause: Cause.Cause<unknown>): ConfigurationError => {
  const error = Cause.squash(cause)
  const detail = error instanceof InvalidInput ? error.detail : String(error)
  return new ConfigurationError({ option, problem: `returned invalid ${what}: ${detail}` })
}

interface MeteringFunctions {
  readonly metering: unknown
  /** What is reserved instead of the meters of `metering`, or a function that returns it. */
  readonly reserve: unknown
}

/** Calls the functions that say which meters count. */
const resolveMetering = async (
  parse: ReturnType<typeof makeParseAuthorizeOptions>,
  { metering, reserve }: MeteringFunctions,
  limitsIn: string | undefined,
  request: unknown
): Promise<ParsedLimits["metering"]> => {
  const result = (isFunction(metering) ? await callFunction(metering, request) : metering) as
    | MeteringOptions
    | undefined
  if (result === undefined) return undefined
  if (reserve !== undefined && result.meters !== undefined) {
    throw new ConfigurationError({ option: "metering", problem: "must return no meters if the route has reserve" })
  }
  const reserved = isFunction(reserve) ? await callFunction(reserve, request) : reserve
  const option = isFunction(metering) ? "metering" : "reserve"
  const meters = reserve === undefined ? {} : { meters: (reserved ?? {}) as Amounts }
  const parsed = parse({ metering: { ...result, ...meters }, limitsIn })
  if (Exit.isSuccess(parsed)) return (parsed.value.limits as ParsedLimits).metering
  throw toReturnError(option, "options", parsed.cause)
}

/** Calls the function that says what a request uses its meters for. */
const resolveLabels = async (
  parse: ReturnType<typeof makeParseAuthorizeOptions>,
  labels: RequestFunction,
  request: unknown
): Promise<ParsedLimits["labels"]> => {
  const result = await callFunction(labels, request)
  if (result === undefined) return undefined
  const given = isPlainObject(result)
    ? Object.fromEntries(Object.entries(result).filter(([, value]) => value !== undefined))
    : result
  for (const [name, value] of isPlainObject(given) ? Object.entries(given) : []) {
    if (typeof value !== "string" || hasAtMost(maxLabelCharacters, value)) continue
    // The client chose the value.
    const detail = `The label "${name}" of this request may have at most ${maxLabelCharacters} characters; shorten it`
    throw new InvalidInput({ errors: [{ detail }], detail })
  }
  const parsed = parse({ metering: { meteringBucketId: "" }, labels: given as Readonly<Record<string, string>> })
  if (Exit.isSuccess(parsed)) return (parsed.value.limits as ParsedLimits).labels
  throw toReturnError("labels", "labels", parsed.cause)
}

const labelsNeedMetering = {
  option: "labels",
  problem: "needs metering with the meteringBucketId of the subscription"
}

const featuresNeedMetering = {
  option: "features",
  problem: "needs metering with the meteringBucketId of the subscriptions, for every request"
}

const makeFindIp =
  (ip: RequestFunction) =>
  (request: unknown): string | undefined => {
    const result = ip(request)
    if (result === undefined || typeof result === "string") return result
    throw new ConfigurationError({ option: "ip", problem: "must return a string or undefined" })
  }

/** Throws unless the route reserves in a metering bucket, and counts nothing beside it. */
const checkReserve = (
  metering: unknown,
  decoded: { readonly charge?: unknown; readonly metering?: { readonly meters?: unknown } | undefined }
): void => {
  const fail = (problem: string): never => {
    throw new ConfigurationError({ option: "reserve", problem })
  }
  if (metering === undefined) fail("needs metering with the meteringBucketId of the subscription")
  if (decoded.metering?.meters !== undefined) fail("set either reserve or metering.meters, not both")
  if (decoded.charge !== undefined) fail("set either reserve or charge, not both")
}

interface RouteOptions {
  readonly keyFrom: KeyFrom | undefined
  readonly onStoreUnavailable: "deny" | "allow" | undefined
  readonly onRefused: RequireApiKeyOptions["onRefused"]
  readonly scopes: ReadonlyArray<string> | undefined
  readonly findIp: ((request: unknown) => string | undefined) | undefined
  /** The rate limits, and the metering bucket that counts them; `undefined`: the key bucket. */
  readonly policies: ReadonlyArray<RateLimitPolicy>
  readonly limitsIn: string | undefined
  /** Whether the route says what requests have used. */
  readonly isSettledByRoute: boolean
  /** The options of `authorize`, or a function that makes them for a request. */
  readonly authorizeOptions: ParsedAuthorizeOptions | ((request: unknown) => ParsedAuthorizeOptions)
}

/** Throws a `ConfigurationError` for an invalid option. */
export const parseRouteOptions = (options: unknown = {}): RouteOptions => {
  const { rateLimit, rateLimits, metering, reserve, labels, ...rest }: Fields = isPlainObject(options)
    ? { ...options }
    : {}
  const severalLimits = Array.isArray(rateLimits) ? rateLimits : []
  const limitFunctions =
    rateLimit === undefined
      ? severalLimits.map((limit, index) => getLimitFunctions(limit, `rateLimits[${index}]`))
      : [getLimitFunctions(rateLimit, "rateLimit")]
  const withoutFunctions = {
    ...rest,
    rateLimit: omitFunctions(rateLimit),
    rateLimits: Array.isArray(rateLimits) ? severalLimits.map(omitFunctions) : rateLimits,
    metering: isFunction(metering) ? undefined : metering,
    reserve: isFunction(reserve) ? undefined : reserve,
    labels: isFunction(labels) ? undefined : labels
  }
  const decoded = Options.decodeSync(staticOptions, isPlainObject(options) ? withoutFunctions : options)
  const { keyFrom, onStoreUnavailable, onRefused, scopes, ip } = decoded
  const { charge = "request" } = decoded
  const isSettledByRoute = reserve !== undefined
  if (isSettledByRoute) checkReserve(metering, decoded)
  // A function may return the meters.
  if (charge !== "request" && !isFunction(metering) && decoded.metering?.meters === undefined) {
    throw new ConfigurationError({ option: "charge", problem: `"${charge}" needs metering with meters to charge` })
  }
  const { reserve: meters, ...withoutReserve } = decoded
  const counted = toParsedLimits(withoutReserve)
  const limits: ParsedLimits =
    meters && counted.metering ? { ...counted, metering: { ...counted.metering, meters } } : counted
  if (limits.features !== undefined && metering === undefined) throw new ConfigurationError(featuresNeedMetering)
  if (labels !== undefined && metering === undefined) throw new ConfigurationError(labelsNeedMetering)
  if (isFunction(metering) && limits.rateLimits.length > 0 && limits.limitsIn === undefined) {
    const problem =
      "is needed beside rate limits if metering is a function: the id of the metering bucket that it returns"
    throw new ConfigurationError({ option: "limitsIn", problem })
  }
  const parsedOptions = {
    keyFrom,
    onStoreUnavailable,
    onRefused,
    scopes,
    findIp: ip && makeFindIp(ip),
    policies: limits.rateLimits.map(({ policy }) => policy),
    limitsIn: limits.limitsIn ?? limits.metering?.meteringBucketId,
    isSettledByRoute
  }
  const mode = isSettledByRoute ? "settle" : charge
  const metersAreResolved = isFunction(metering) || isFunction(reserve)
  const hasFunctions =
    metersAreResolved ||
    isFunction(labels) ||
    limitFunctions.some(({ by, cost }) => by !== undefined || cost !== undefined)
  if (!hasFunctions) {
    return { ...parsedOptions, authorizeOptions: new ParsedAuthorizeOptions(scopes, limits, mode) }
  }

  const parse = makeParseAuthorizeOptions()
  const resolveLimits = async (request: unknown): Promise<ParsedLimits> => {
    const [resolvedLabels, resolvedMetering, ...resolvedLimits] = await Promise.all([
      isFunction(labels) ? resolveLabels(parse, labels, request) : limits.labels,
      metersAreResolved ? resolveMetering(parse, { metering, reserve }, limits.limitsIn, request) : limits.metering,
      ...limits.rateLimits.map(async (limit, index): Promise<AppliedRateLimit> => {
        const functions = limitFunctions[index] ?? { path: "" }
        const [by, cost] = [await resolveBy(functions, limit, request), await resolveCost(functions, limit, request)]
        return { policy: limit.policy, by, cost }
      })
    ])
    if (limits.features !== undefined && resolvedMetering === undefined) {
      throw new ConfigurationError(featuresNeedMetering)
    }
    return { ...limits, rateLimits: resolvedLimits, metering: resolvedMetering, labels: resolvedLabels }
  }
  return {
    ...parsedOptions,
    authorizeOptions: (request) => new ParsedAuthorizeOptions(scopes, () => resolveLimits(request), mode)
  }
}
