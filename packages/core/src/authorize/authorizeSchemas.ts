/**
 * The schemas of `AuthorizeOptions`. `authorize` decodes its options with them, and a protected route when it is created.
 */
import { Schema } from "effect"
import { Amounts } from "../metering/model/Quota.ts"
import {
  type RateLimitPolicy,
  RequestCount,
  rateLimitCheck,
  rateLimitFields,
  toPolicy
} from "../rateLimits/RateLimit.ts"
import { RequiredScopes } from "../records/Scope.ts"
import * as Options from "../runtime/Options.ts"
import { RateLimitName } from "../schema/Names.ts"
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

const limitFields = {
  ...rateLimitFields,
  burst: Options.optional(RequestCount),
  by: Options.optional(By),
  cost: Options.optional(Schema.Int.pipe(Schema.check(Schema.isGreaterThanOrEqualTo(1))))
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

/** The schemas of `AuthorizeOptions`. */
export const authorizeFields = {
  scopes: Options.optional(RequiredScopes),
  rateLimit: Options.optional(RateLimitInput),
  rateLimits: Options.optional(
    Schema.Array(NamedRateLimitInput).pipe(Schema.check(Schema.isMaxLength(10), rejectConflictingNames))
  ),
  metering: Options.optional(Schema.Struct({ meteringBucketId: Schema.String, meters: Options.optional(Amounts) })),
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

export const AuthorizeInput = Schema.Struct(authorizeFields).pipe(
  Schema.check(rejectBothRateLimitOptions, rejectTwoHomes)
)

export const toParsedLimits = ({
  rateLimit,
  rateLimits = [],
  metering,
  limitsIn
}: typeof AuthorizeInput.Type): ParsedLimits => ({
  rateLimits: (rateLimit === undefined ? rateLimits : [rateLimit]).map(toAppliedRateLimit),
  metering,
  limitsIn
})

export const toParsedOptions = (input: typeof AuthorizeInput.Type): ParsedAuthorizeOptions =>
  new ParsedAuthorizeOptions(input.scopes, toParsedLimits(input))
