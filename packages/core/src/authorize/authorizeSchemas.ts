/**
 * The schemas of `AuthorizeOptions`. `authorize` decodes its options with them, and a protected route when it is created.
 */

import { Options, RateLimitName, ShortText } from "@tollgate/store/internal"
import { Schema } from "effect"
import { RequiredFeatures } from "../metering/model/Features.ts"
import { Labels } from "../metering/model/Labels.ts"
import { Amounts } from "../metering/model/Quota.ts"
import { defaultReservationSeconds, ReservationCreate, ReservationSeconds } from "../metering/model/Reservation.ts"
import {
  type RateLimitPolicy,
  RequestCount,
  rateLimitCheck,
  rateLimitFields,
  toPolicy
} from "../rateLimits/RateLimit.ts"
import { RequiredScopes } from "../records/Scope.ts"
import {
  type AppliedRateLimit,
  type AuthorizeOptions,
  ParsedAuthorizeOptions,
  type ParsedLimits,
  type RateLimitBy
} from "./AuthorizeOptions.ts"

const byMessage = { message: 'must be "consumer", "key", or { value } with a non-empty string' }
const By = Schema.Union([
  Schema.Literals(["consumer", "key"]).annotate(byMessage),
  Schema.Struct({
    value: Schema.String.annotate(byMessage).pipe(Schema.check(Schema.isMinLength(1, byMessage)))
  }).annotate(byMessage)
]).annotate(byMessage)

export const isRateLimitBy: (value: unknown) => value is RateLimitBy = Schema.is(By)

const Cost = Schema.Int.pipe(Schema.check(Schema.isGreaterThanOrEqualTo(1)))

const limitFields = {
  ...rateLimitFields,
  burst: Options.optional(RequestCount),
  by: Options.optional(By),
  cost: Options.optional(Cost)
}

interface Costly {
  readonly limit: number
  readonly burst?: number
  readonly cost?: number
}

/** A request that costs more than the burst could never pass. */
const costCheck = Schema.makeFilter(({ limit, burst = limit, cost = 1 }: Costly) =>
  cost <= burst ? undefined : { path: ["cost"], issue: `must be at most the burst, which is ${burst}` }
)

const RateLimitInput = Schema.Struct({ name: Options.optional(RateLimitName), ...limitFields }).pipe(
  Schema.check(rateLimitCheck, costCheck)
)
const NamedRateLimitInput = Schema.Struct({ name: RateLimitName, ...limitFields }).pipe(
  Schema.check(rateLimitCheck, costCheck)
)

export const toAppliedRateLimit = ({
  name = "default",
  by = "consumer",
  cost = 1,
  ...rateLimit
}: typeof RateLimitInput.Type): AppliedRateLimit => ({ policy: toPolicy(name, rateLimit), by, cost })

const isSamePolicy = (left: RateLimitPolicy, right: RateLimitPolicy): boolean =>
  left.limit === right.limit && left.per === right.per && left.burst === right.burst

/** Outsiders know a limit by its name, so one name cannot stand for different numbers. */
const rejectConflictingNames = Schema.makeFilter((inputs: ReadonlyArray<typeof NamedRateLimitInput.Type>) => {
  const policies = inputs.map(({ name, ...rateLimit }) => toPolicy(name, rateLimit))
  const index = policies.findIndex((policy, index) =>
    policies.slice(0, index).some((other) => other.name === policy.name && !isSamePolicy(other, policy))
  )
  return index < 0
    ? undefined
    : { path: [index, "name"], issue: "is the name of another limit with other numbers; choose another name" }
})

const maxRateLimits = Schema.isMaxLength(10)

/** The schemas of the `AuthorizeOptions` that a route has, too. */
export const authorizeFields = {
  scopes: Options.optional(RequiredScopes),
  features: Options.optional(RequiredFeatures),
  rateLimit: Options.optional(RateLimitInput),
  rateLimits: Options.optional(
    Schema.Array(NamedRateLimitInput).pipe(Schema.check(maxRateLimits, rejectConflictingNames))
  ),
  metering: Options.optional(Schema.Struct({ meteringBucketId: Schema.String, meters: Options.optional(Amounts) })),
  labels: Options.optional(Labels),
  limitsIn: Options.optional(Schema.String)
}

export const rejectBothRateLimitOptions = Schema.makeFilter(
  ({ rateLimit, rateLimits }: { readonly rateLimit?: unknown; readonly rateLimits?: unknown }) =>
    rateLimit === undefined || rateLimits === undefined
      ? undefined
      : { path: ["rateLimit"], issue: "set either rateLimit or rateLimits, not both" }
)

/** A decision is one commit, in one bucket. */
export const rejectTwoHomes = Schema.makeFilter(
  ({ metering, limitsIn }: Pick<AuthorizeOptions, "metering" | "limitsIn">) =>
    metering === undefined || limitsIn === undefined || limitsIn === metering.meteringBucketId
      ? undefined
      : { path: ["limitsIn"], issue: "must be the meteringBucketId of metering, or be left out" }
)

/** Features, labels, what is reserved, and whose subscription counts, are about a metering bucket. */
const requireMetering = Schema.makeFilter(
  ({
    metering,
    features,
    reserve,
    customer,
    labels
  }: Pick<AuthorizeOptions, "metering" | "features" | "reserve" | "customer" | "labels">) => {
    const issue = "needs metering with the meteringBucketId of the subscription"
    if (reserve !== undefined && metering === undefined) return { path: ["reserve"], issue }
    if (customer !== undefined && metering === undefined) return { path: ["customer"], issue }
    if (features !== undefined && metering === undefined) return { path: ["features"], issue }
    if (labels !== undefined && metering === undefined) return { path: ["labels"], issue }
    return reserve === undefined || metering?.meters === undefined
      ? undefined
      : { path: ["reserve"], issue: "set either reserve or metering.meters, not both" }
  }
)

export const AuthorizeInput = Schema.Struct({
  ...authorizeFields,
  reserve: Options.optional(Schema.Struct({ meters: Amounts, expiresIn: Options.optional(ReservationSeconds) })),
  customer: Options.optional(ShortText),
  ip: Options.optional(Schema.String)
}).pipe(Schema.check(rejectBothRateLimitOptions, rejectTwoHomes, requireMetering))

const NamedRateLimit = Schema.Struct({
  name: RateLimitName,
  ...rateLimitFields,
  by: Schema.optionalKey(By),
  cost: Schema.optionalKey(Cost)
})
  .pipe(Schema.check(rateLimitCheck, costCheck))
  .annotate({ identifier: "NamedRateLimit" })

/** The body of a request that asks for a decision: the key, and what `AuthorizeOptions` has, as JSON. */
export const AuthorizeRequest = Schema.Struct({
  key: Schema.String,
  scopes: Schema.optionalKey(RequiredScopes),
  features: Schema.optionalKey(RequiredFeatures),
  rateLimits: Schema.optionalKey(
    Schema.Array(NamedRateLimit).pipe(Schema.check(maxRateLimits, rejectConflictingNames))
  ),
  metering: Schema.optionalKey(Schema.Struct({ meteringBucketId: Schema.String, meters: Schema.optionalKey(Amounts) })),
  limitsIn: Schema.optionalKey(Schema.String),
  reserve: Schema.optionalKey(ReservationCreate),
  customer: Schema.optionalKey(ShortText),
  labels: Schema.optionalKey(Labels),
  ip: Schema.optionalKey(Schema.String)
})
  .pipe(Schema.check(rejectTwoHomes, requireMetering))
  .annotate({ identifier: "AuthorizeRequest" })

export const toParsedLimits = ({
  rateLimit,
  rateLimits = [],
  metering,
  limitsIn,
  features,
  reserve,
  customer,
  labels
}: Omit<typeof AuthorizeInput.Type, "ip" | "scopes">): ParsedLimits => ({
  rateLimits: (rateLimit === undefined ? rateLimits : [rateLimit]).map(toAppliedRateLimit),
  metering: metering && reserve ? { ...metering, meters: reserve.meters } : metering,
  limitsIn,
  reserveMs: reserve && (reserve.expiresIn ?? defaultReservationSeconds) * 1_000,
  features: features?.length === 0 ? undefined : features,
  customer,
  labels
})

export const toParsedOptions = ({ scopes, ...input }: typeof AuthorizeInput.Type): ParsedAuthorizeOptions =>
  new ParsedAuthorizeOptions(scopes, toParsedLimits(input))
