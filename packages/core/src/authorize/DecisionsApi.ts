/**
 * Declares the operation that decides on a request of another server. `Decisions.ts` implements it.
 */

import { Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../api/checkMethods.ts"
import { bodyErrors, idempotencyErrors } from "../api/errors.ts"
import { idempotencyKeyHeader } from "../api/headers.ts"
import type { IdempotentCallOptions, Input } from "../api/Methods.ts"
import { Area, BodyLimit, Owner, Permission } from "../api/Owner.ts"
import { KeyRefusalReason, Verified } from "../keys/Verification.ts"
import { Features } from "../metering/model/Features.ts"
import { MeteringBucketNotFound } from "../metering/model/MeteringBucketError.ts"
import { Quotas } from "../metering/model/Quota.ts"
import { UnknownMeter } from "../metering/model/QuotaError.ts"
import { ReservationId } from "../metering/model/Reservation.ts"
import { UsedSubscriptionResult } from "../metering/model/UsedSubscription.ts"
import { KeyBucket } from "../records/KeyBucket.ts"
import { AuthorizeRequest } from "./authorizeSchemas.ts"

/** Maximum bytes of the body: more than all limits, scopes and meters of a request usually take. */
export const maxAuthorizeBytes = 16_384

/** Why a request is refused. */
export const RefusalReason = Schema.Literals([
  ...KeyRefusalReason.literals,
  "ip-not-allowed",
  "missing-scope",
  "no-subscription",
  "subscription-not-active",
  "missing-feature",
  "rate-limited",
  "over-quota"
])

const RateLimitState = Schema.Struct({
  name: Schema.String,
  limit: Schema.Finite,
  per: Schema.Finite.annotate({ description: "In milliseconds." }),
  burst: Schema.Finite,
  remaining: Schema.Finite,
  resetAfterMs: Schema.Finite
}).annotate({ identifier: "RateLimitState" })

/** The decision, and what a protected route would have answered. */
export const AuthorizeAnswer = Schema.Struct({
  allowed: Schema.Boolean,
  reason: Schema.optionalKey(RefusalReason),
  consumer: Schema.optionalKey(Verified.fields.consumer),
  keyId: Schema.optionalKey(Schema.String),
  scopes: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({
      description: "The scopes of the key, if it has any; with the reason `missing-scope` those that it lacks."
    })
  ),
  subscription: Schema.optionalKey(UsedSubscriptionResult),
  features: Schema.optionalKey(
    Schema.Union([Features, Schema.Array(Schema.String)]).annotate({
      description:
        "The features of the customer, if it has any, with `metering`; with the reason `missing-feature` the names of those that it lacks."
    })
  ),
  quotas: Schema.optionalKey(Quotas),
  rateLimits: Schema.optionalKey(Schema.Array(RateLimitState)),
  reservation: Schema.optionalKey(Schema.Struct({ id: ReservationId, expiresOn: Timestamp })),
  status: Schema.Int.annotate({ description: "The status with which a protected route would have answered." }),
  headers: Schema.Record(Schema.String, Schema.String).annotate({
    description: "The headers that it would have added to the response."
  }),
  problem: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown).annotate({ description: "The body of a refusal." })
  )
}).annotate({ identifier: "AuthorizeAnswer" })
export type AuthorizeAnswer = typeof AuthorizeAnswer.Type
/** The answer of `authorize` to a client, as plain JSON. */
export type AuthorizeAnswerJson = typeof AuthorizeAnswer.Encoded

export class DecisionsApi extends HttpApiGroup.make("decisions")
  .add(
    HttpApiEndpoint.post("authorize", "/authorize", {
      params: KeyBucket.fields,
      headers: idempotencyKeyHeader,
      payload: AuthorizeRequest,
      success: AuthorizeAnswer,
      error: [MeteringBucketNotFound, UnknownMeter, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(Permission, "authorize")
      .annotate(BodyLimit, maxAuthorizeBytes)
      .annotate(OpenApi.Summary, "Decide on a request")
      .annotate(
        OpenApi.Description,
        "For servers that Tollgate does not run in. Verifies a key, checks its address and its scopes, takes from rate " +
          "limits, and counts meters, as one decision. The first refusal wins, and then nothing is taken or counted. The " +
          "response is 200 for a refusal, too: `status`, `headers` and `problem` are what a protected route would have " +
          "answered, so pass them on. With `reserve`, amounts are held until you settle or release the `reservation`. " +
          "`customer` is the `customerKey` whose subscription counts, by default that of the consumer: a token with the " +
          "permission `authorize` may count for every customer. With an Idempotency-Key, an allowed request counts once; repeat it with the same body. The body has at most 16 KiB."
      )
  )
  .prefix("/v1/accounts/:accountName/key-buckets/:bucketName")
  .middleware(Authenticated)
  .annotate(Area, "decisions")
  .annotate(Owner, "account")
  .annotateMerge(
    OpenApi.annotations({
      title: "Decisions",
      description: "Decisions on requests: allowed, or refused with a reason."
    })
  ) {}

/** Decisions on requests, as the operations are declared. */
export interface DecisionsMethods {
  /** Decides on a request with a key, and says what a protected route would have answered. */
  authorize(input: Input<typeof AuthorizeRequest>, options?: IdempotentCallOptions): Promise<AuthorizeAnswerJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof DecisionsApi, DecisionsMethods>>
