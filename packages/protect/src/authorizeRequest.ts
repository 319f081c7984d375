/**
 * Decides whether a request to one of your own routes is allowed: requires a valid API key, and what the options of the
 * route ask for. Otherwise makes the problem response. The `requireApiKey` of every framework binding is built on it.
 */

import {
  type AuthorizeResultJson,
  ConfigurationError,
  InvalidInput,
  MeteringBucketNotFound,
  parseBearerToken,
  type QuotasJson,
  ServerBusy,
  StoreConflict,
  StoreUnavailable,
  UnknownMeter
} from "@tollgate/core"
import type { AuthorizeResult } from "@tollgate/core/effect"
import {
  type AuthorizingKeyBucket,
  type BackgroundTasks,
  bucketDecisions,
  encodeQuotas,
  encodeRefusal,
  makeInvalidKeyRefusal,
  Options,
  type RefusalProblem,
  resolveRequestId,
  throwFromCaller,
  toAllowedHeaders,
  toRefusal,
  toRefusalAnswer
} from "@tollgate/core/internal"
import { Clock, type Context, Effect, Predicate } from "effect"
import { isHeaderName, parseRouteOptions } from "./parseRouteOptions.ts"
import type { RefusedResponse, RequireApiKeyOptions } from "./RequireApiKeyOptions.ts"
import { makeReportOutcome, type ReportOutcome } from "./reportOutcome.ts"
import { makeSettlement, nothingToSettle, type SettleRequest } from "./settleRequest.ts"

/** The consumer whose key authorized the request, as a protected route sees it. */
export interface RequestConsumer {
  /** The consumer's name. */
  readonly name: string
  readonly id: string
  readonly keyId: string
  readonly tags: Readonly<Record<string, string | number | boolean>>
  readonly metadata: Readonly<Record<string, unknown>>
  /** The scopes of the key, if it has any. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** The remaining quota of each meter that this request used. */
  readonly remaining: Readonly<Record<string, number>>
  /** The subscription that the request used, with `metering`. */
  readonly subscription?: AllowedJson["subscription"]
  /** The features of the customer, if it has any, with `metering`. */
  readonly features?: AllowedJson["features"]
  /** The quotas of the meters that the request used. */
  readonly quotas?: QuotasJson | undefined
  /** What is left of the rate limits: those of the route, then those of the plans. */
  readonly rateLimits?: AllowedJson["rateLimits"]
  /** Says what the request has used, on a route with `reserve`. */
  readonly settle?: SettleRequest | undefined
}

/** The consumer of a request to a route with `reserve`. */
export interface SettlingConsumer extends RequestConsumer {
  readonly settle: SettleRequest
}

/** Access to a request's headers, query parameters and connection, for any framework. */
export interface RequestLike {
  readonly header: (name: string) => string | undefined
  readonly query: (name: string) => unknown
  /** The address of the client, as the framework knows it. */
  readonly ip?: (() => string | undefined) | undefined
  /** The route, as the framework writes it: `GET /orders/:id`. */
  readonly route?: (() => string | undefined) | undefined
  /** The same object for all requests of a connection, so that one client does not delay the others. */
  readonly connection?: object | undefined
}

type Allowed = Extract<AuthorizeResult, { readonly allowed: true }>
type AllowedJson = Extract<AuthorizeResultJson, { readonly allowed: true }>

type Refused = Extract<AuthorizeResult, { readonly allowed: false }>

type Headers = Readonly<Record<string, string>>

export type AuthorizeRequestResult =
  | {
      readonly allowed: true
      /** `undefined` if the route needs no key, or if the store cannot be reached and the key was valid lately. */
      readonly consumer: RequestConsumer | undefined
      readonly headers: Headers
      /** Set if the request has reserved its meters: call it when the request has ended. */
      readonly reportOutcome?: ReportOutcome | undefined
    }
  | RefusedResult

/** Decides on a request to a route. */
export type AuthorizeRequest<HostRequest> = (
  request: RequestLike,
  hostRequest: HostRequest
) => Promise<AuthorizeRequestResult>

interface RefusedResult {
  readonly allowed: false
  readonly status: number
  readonly headers: Headers
  /** The body, as JSON. */
  readonly problem: unknown
}

const extractKey = ({ header, query }: RequestLike, keyFrom: RequireApiKeyOptions["keyFrom"]): string => {
  if (keyFrom === undefined) return parseBearerToken(header("authorization")) ?? ""
  const key = "header" in keyFrom ? header(keyFrom.header) : query(keyFrom.query)
  return typeof key === "string" ? key : ""
}

/** The store is unreachable, or too many requests write the same record: the client may retry. */
export const toStoreRefusal = (error: StoreUnavailable | StoreConflict): RefusalProblem => {
  const outcome = error instanceof StoreUnavailable ? error.outcome : "not-applied"
  const detail = "The request was not passed on, but its use may have been counted. Try again in a moment."
  return {
    error: new StoreUnavailable(outcome === "unknown" ? { outcome, detail } : { outcome }),
    headers: { "retry-after": "1" }
  }
}

/**
 * A metering bucket or a meter that does not exist is a mistake of the server: with the error's own status, a framework
 * would blame the client, and log nothing.
 */
const toServerError = (error: unknown): unknown => {
  if (error instanceof MeteringBucketNotFound) {
    return new ConfigurationError({ option: "metering.meteringBucketId", problem: error.message })
  }
  return error instanceof UnknownMeter
    ? new ConfigurationError({ option: "metering.meters", problem: error.message })
    : error
}

export const toRefusalResult = (refusal: RefusalProblem, instance: string): AuthorizeRequestResult => ({
  allowed: false,
  ...toRefusalAnswer(refusal, instance)
})

/** Bindings do not run in Effect, so this is the clock that Effect programs have by default. */
const clock = Clock.Clock.defaultValue()

/** All consumers have the same fields, also those that are undefined: the code that reads them is faster. */
const toAllowedResult = (
  decision: Allowed,
  isSettledByRoute: boolean,
  tasks: BackgroundTasks
): AuthorizeRequestResult => {
  const { consumer, keyId, scopes, subscription, features, rateLimits, charge } = decision
  const { name, id, tags, metadata } = consumer
  const quotas = decision.quotas && encodeQuotas(decision.quotas)
  const remaining: Record<string, number> = {}
  for (const meter in quotas?.meters) remaining[meter] = quotas.meters[meter]?.remaining ?? 0
  const settlement = isSettledByRoute ? (charge ? makeSettlement(charge, tasks) : nothingToSettle) : undefined
  const settle = settlement?.settle
  return {
    allowed: true,
    consumer: {
      name,
      id,
      keyId,
      tags,
      metadata,
      scopes,
      remaining,
      subscription,
      features,
      quotas,
      rateLimits,
      settle
    },
    headers: toAllowedHeaders(decision, clock),
    reportOutcome: settlement === undefined ? charge && makeReportOutcome(charge, tasks) : settlement.reportOutcome
  }
}

/** The names of headers are compared without regard to case. A header that cannot be sent would fail the response. */
const checkHeaders = (headers: Headers): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (!isHeaderName(name) || !/^[\t\x20-\x7e]*$/.test(value)) throw new Error(`the header ${name} cannot be sent`)
      return [name.toLowerCase(), value]
    })
  )

const changeResponse = async (
  result: RefusedResult,
  getChanges: () => Promise<RefusedResponse | undefined>,
  report: (error: unknown) => void
): Promise<RefusedResult> => {
  try {
    const { body, headers = {} } = (await getChanges()) ?? {}
    const problem = body === undefined ? result.problem : JSON.parse(JSON.stringify(body))
    const type: Headers = body === undefined ? {} : { "content-type": "application/json" }
    return { ...result, headers: { ...result.headers, ...type, ...checkHeaders(headers) }, problem }
  } catch (error) {
    report(error)
    return result
  }
}

/** Bindings do not run in Effect. */
export const logRequestError = (context: Context.Context<never>, requestId: string, message: string): void => {
  Effect.runForkWith(context)(Effect.annotateLogs(Effect.logError(message), { requestId }))
}

export const keyBucketOption = Options.value(
  (bucket): bucket is AuthorizingKeyBucket => Predicate.hasProperty(bucket, bucketDecisions),
  "must be a key bucket, such as gate.account(…).keyBucket(…)"
)

/**
 * Validates the options once, and returns the function that authorizes each request. `hostRequest` is the framework's
 * own request, for options that are functions. The stacks of errors in options begin at the caller of `caller`.
 */
export const makeAuthorizeRequest = <HostRequest>(
  bucket: AuthorizingKeyBucket,
  options?: RequireApiKeyOptions<HostRequest>,
  // biome-ignore lint/complexity/noBannedTypes: any function of a framework's binding
  caller?: Function
): AuthorizeRequest<HostRequest> => {
  const parsed = throwFromCaller(caller ?? makeAuthorizeRequest, () => {
    Options.decodeSync(keyBucketOption, bucket, "keyBucket")
    return parseRouteOptions(options)
  })
  const { keyFrom, onStoreUnavailable, onRefused, scopes, findIp, policies, limitsIn, authorizeOptions } = parsed
  const { decide, context, tasks, batches, addLimits, rememberKeys } = bucket[bucketDecisions]
  addLimits(policies, limitsIn)
  const wasValid = onStoreUnavailable === "allow" ? rememberKeys() : () => false
  const invalidKey = makeInvalidKeyRefusal(keyFrom)
  return async (request, hostRequest) => {
    let instance: string | undefined
    const getInstance = () => (instance ??= resolveRequestId(request.header("x-request-id")))
    const key = extractKey(request, keyFrom)
    if (!(await batches.next(request.connection ?? request))) {
      return toRefusalResult({ error: new ServerBusy(), headers: { "retry-after": "1" } }, getInstance())
    }
    const options = typeof authorizeOptions === "function" ? authorizeOptions(hostRequest) : authorizeOptions
    const ip = findIp === undefined ? request.ip : () => findIp(hostRequest)
    const toResult = (decision: AuthorizeResult) =>
      decision.allowed
        ? toAllowedResult(decision, parsed.isSettledByRoute, tasks)
        : refuse(decision, toRefusalResult(toRefusal(decision, invalidKey), getInstance()))
    /** Lets the route change the response. Its status is not for the route to change. */
    const refuse = (decision: Refused, result: AuthorizeRequestResult) =>
      onRefused === undefined || result.allowed
        ? result
        : changeResponse(
            result,
            async () => onRefused(encodeRefusal(decision), hostRequest),
            (error) => logRequestError(context, getInstance(), `onRefused failed: ${error}`)
          )
    try {
      return await decide(key, options, toResult, { ip, requestId: getInstance, route: request.route })
    } catch (error) {
      if (error instanceof InvalidInput) return toRefusalResult({ error, headers: {} }, getInstance())
      if (!(error instanceof StoreUnavailable || error instanceof StoreConflict)) throw toServerError(error)
      logRequestError(context, getInstance(), error.message)
      // A key that this process does not know may be made up: a client that slows the store down could pass with any.
      return wasValid(key, scopes ?? [], ip)
        ? { allowed: true, consumer: undefined, headers: {} }
        : toRefusalResult(toStoreRefusal(error), getInstance())
    }
  }
}
