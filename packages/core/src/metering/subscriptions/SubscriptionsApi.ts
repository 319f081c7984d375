/**
 * Declares the operations on subscriptions and their quotas. `Subscriptions.ts` and `Usage.ts` implement them.
 */

import { Page, VersionMismatch } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { LimitReached } from "../../accounts/limits/LimitReached.ts"
import { Authenticated } from "../../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../../api/checkMethods.ts"
import { bodyErrors, idempotencyErrors } from "../../api/errors.ts"
import { idempotencyKeyHeader, ifMatchHeader } from "../../api/headers.ts"
import type {
  CallOptions,
  ConditionalCallOptions,
  IdempotentCallOptions,
  Input,
  PageOptions,
  PagePromise,
  Versioned
} from "../../api/Methods.ts"
import { Area, NarrowPermissions, Owner } from "../../api/Owner.ts"
import { optional, parameters } from "../../api/parameters.ts"
import { includeUsage, noQuery, page } from "../../api/query.ts"
import { withLines } from "../../api/withLines.ts"
import { withRateLimits } from "../../api/withRateLimits.ts"
import { withVersion } from "../../api/withVersion.ts"
import { RateLimited } from "../../rateLimits/RateLimitError.ts"
import { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { newSubscriptionErrors } from "../model/newSubscriptionErrors.ts"
import { ConflictingPeriods, UnknownPlan } from "../model/PlanError.ts"
import { Consumption, Quotas, type QuotasJson } from "../model/Quota.ts"
import { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "../model/QuotaError.ts"
import {
  ListedSubscription,
  type ListedSubscriptionJson,
  Subscription,
  SubscriptionCreate,
  type SubscriptionJson,
  SubscriptionStatus,
  SubscriptionUpdate
} from "../model/Subscription.ts"
import { SubscriptionNotFound } from "../model/SubscriptionError.ts"

const bucketParams = { bucketId: Schema.String }
const subscriptionParams = { ...bucketParams, subscriptionId: Schema.String }

export class SubscriptionsApi extends HttpApiGroup.make("subscriptions")
  .add(
    HttpApiEndpoint.get("list", "/metering/:bucketId/subscriptions", {
      params: bucketParams,
      query: parameters({
        ...page,
        customerKey: optional(Schema.String, { description: "Return only the subscriptions of this consumer." }),
        subscriptionExternalId: optional(Schema.String, {
          description: "Return only the subscription with this external id."
        }),
        customerExternalId: optional(Schema.String, {
          description: "Return only the subscriptions of the customer with this external id."
        }),
        status: optional(SubscriptionStatus, { description: "Return only the subscriptions in this status." }),
        include: includeUsage
      }),
      success: withLines(Page(ListedSubscription)),
      error: [MeteringBucketNotFound]
    })
      .annotate(OpenApi.Summary, "List subscriptions")
      .annotate(
        OpenApi.Description,
        "Returns the subscriptions that match all given filters, oldest first. `status` filters by the " +
          "status now, with trials that have ended. With `Accept: application/x-ndjson`, the response has all subscriptions " +
          "from there on, a line each, whatever `limit` is."
      ),
    HttpApiEndpoint.post("create", "/metering/:bucketId/subscriptions", {
      params: bucketParams,
      headers: idempotencyKeyHeader,
      payload: SubscriptionCreate,
      success: withVersion(Subscription),
      error: [...newSubscriptionErrors, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Create a subscription")
      .annotate(
        OpenApi.Description,
        "`planIds` and `planExternalIds` must name the same plans of this metering bucket, otherwise the " +
          "request gets 422; so do plans that give one meter different periods. A `subscriptionExternalId` that is taken in the metering bucket gets 409. Quota " +
          "periods begin at `quotaResetAnchor`, by default the time of creation. With the status `trialing`, " +
          "the dates of the trial come from the first plan with `trialDays`, unless the body contains them. `overrides` " +
          "replaces limits of the plans for this subscription, also after a change of plan: fields of meters, more " +
          "meters, and rate limits, of which `null` lifts one. With `continueUsage`, the subscription goes on with the periods " +
          "and the usage of the customer's subscription that was canceled in its present period, if there is one with the same " +
          "`renewalStrategy`. Otherwise it starts afresh, at `quotaResetAnchor` if that is given."
      ),
    HttpApiEndpoint.get("get", "/metering/:bucketId/subscriptions/:subscriptionId", {
      params: subscriptionParams,
      success: withVersion(Subscription),
      error: [MeteringBucketNotFound, SubscriptionNotFound]
    })
      .annotate(OpenApi.Summary, "Get a subscription")
      .annotate(
        OpenApi.Description,
        "The status is the one now: after `trialEndDate`, a trial becomes `active`, `inactive` or " +
          "`canceled`, depending on `trialEndStatus`. `nextBillingCycle` is the start of the next quota " +
          "period, unless you set it."
      ),
    HttpApiEndpoint.patch("update", "/metering/:bucketId/subscriptions/:subscriptionId", {
      params: subscriptionParams,
      query: noQuery,
      headers: ifMatchHeader,
      payload: SubscriptionUpdate,
      success: withVersion(Subscription),
      error: [
        MeteringBucketNotFound,
        SubscriptionNotFound,
        UnknownPlan,
        ConflictingPeriods,
        LimitReached,
        VersionMismatch,
        ...bodyErrors
      ]
    })
      .annotate(NarrowPermissions, { "subscriptions:write": () => true })
      .annotate(OpenApi.Summary, "Update a subscription")
      .annotate(
        OpenApi.Description,
        "Fields that are not in the body stay unchanged; `metadata` and `overrides` replace the previous object, and " +
          "`overrides: null` removes it. " +
          "`planExternalIds` changes the plans at once and keeps the usage; with `prorate` (0 to 1), that " +
          "share of the new maxima applies until the period ends. The same plans again change nothing. An " +
          "unknown plan gets 422; with `If-Match`, a subscription that has changed since gets 412."
      ),
    HttpApiEndpoint.delete("remove", "/metering/:bucketId/subscriptions/:subscriptionId", {
      params: subscriptionParams,
      query: noQuery,
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [MeteringBucketNotFound, SubscriptionNotFound, VersionMismatch]
    })
      .annotate(OpenApi.Summary, "Delete a subscription")
      .annotate(
        OpenApi.Description,
        "Deletes the subscription with its usage and its open reservations. The totals of the metering " +
          "bucket stay. To end a subscription and keep its usage, set its status to `canceled`. With " +
          "`If-Match`, a subscription that has changed since gets 412."
      ),
    HttpApiEndpoint.get("quotas", "/metering/:bucketId/subscriptions/:subscriptionId/quotas", {
      params: subscriptionParams,
      success: Quotas,
      error: [MeteringBucketNotFound, SubscriptionNotFound]
    })
      .annotate(OpenApi.Summary, "Get a subscription's quotas and usage in the current period")
      .annotate(
        OpenApi.Description,
        "Returns the maximum, the usage and the rest of every meter of the plans. Open reservations count as " +
          "used. If several plans have the same meter, their maxima are added. A meter with another period than " +
          "the subscription has its own `periodStart` and `resetsOn`; `overage` is what was used above `max`."
      ),
    HttpApiEndpoint.post("consume", "/metering/:bucketId/subscriptions/:subscriptionId/quotas/consume", {
      params: subscriptionParams,
      headers: idempotencyKeyHeader,
      payload: Consumption,
      success: withRateLimits(Quotas),
      error: [
        MeteringBucketNotFound,
        SubscriptionNotFound,
        SubscriptionNotActive,
        UnknownMeter,
        RateLimited,
        QuotaExceeded,
        ...idempotencyErrors,
        ...bodyErrors
      ]
    })
      .annotate(OpenApi.Summary, "Consume one or more meters atomically")
      .annotate(
        OpenApi.Description,
        "Counts all meters or none, and takes one request from each rate limit of the plans. The response " +
          "contains the quotas of these meters. A meter that would exceed its maximum gets 429 " +
          "`quota-exceeded`, an exhausted rate limit 429 `rate-limited`, and nothing is counted. The statuses " +
          "`active`, `trialing` and `past-due` allow usage; any other gets 403."
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "metering")
  .annotate(Owner, "metering-bucket")
  .annotateMerge(
    OpenApi.annotations({ title: "Subscriptions", description: "The plans of a customer, and their quotas." })
  ) {}

type SubscriptionCreateJson = Input<typeof SubscriptionCreate>
type FieldWithDefault =
  | "type"
  | "renewalStrategy"
  | "region"
  | "status"
  | "subscriptionExternalId"
  | "customerExternalId"
  | "planIds"
  | "planExternalIds"

/**
 * A subscription to create. Name the plans by `planIds` or by `planExternalIds`. The defaults are `status: "active"`,
 * `type: "periodic"`, `renewalStrategy: "monthly"`, `region: "us-central1"`, the `customerKey` as `customerExternalId`, and a
 * generated `subscriptionExternalId`.
 */
export type SubscriptionCreateInput = Omit<SubscriptionCreateJson, FieldWithDefault> &
  Partial<Pick<SubscriptionCreateJson, FieldWithDefault>>

/** The subscriptions of a metering bucket. */
export interface SubscriptionsMethods {
  /** Returns a page of the subscriptions that match the filter, oldest first. Iterate over it to get all pages. */
  list(
    options?: PageOptions & {
      readonly customerKey?: string | undefined
      readonly customerExternalId?: string | undefined
      readonly subscriptionExternalId?: string | undefined
      readonly status?: typeof SubscriptionStatus.Type | undefined
      /** `"usage"` adds the quotas of each subscription. A page has at most 100 subscriptions then. */
      readonly include?: "usage" | undefined
    }
  ): PagePromise<ListedSubscriptionJson>
  /** Creates a subscription. */
  create(input: SubscriptionCreateInput, options?: IdempotentCallOptions): Promise<Versioned<SubscriptionJson>>
  /** Returns a subscription. */
  get(subscriptionId: string, options?: CallOptions): Promise<Versioned<SubscriptionJson>>
  /** Updates the fields in `patch`. Usage in the current period is kept. */
  update(
    subscriptionId: string,
    patch: Input<typeof SubscriptionUpdate>,
    options?: ConditionalCallOptions
  ): Promise<Versioned<SubscriptionJson>>
  /** Deletes a subscription. */
  remove(subscriptionId: string, options?: ConditionalCallOptions): Promise<void>
}

/** The quotas of the subscriptions of a metering bucket. */
export interface QuotaMethods {
  /** Returns the quotas of a subscription, and their usage in the current period. */
  quotas(subscriptionId: string, options?: CallOptions): Promise<QuotasJson>
  /**
   * Consumes one or more meters atomically, and takes one request from each rate limit of the plans. Rejects with
   * `QuotaExceeded` if a meter would exceed its maximum, and with `RateLimited` if a rate limit is exhausted.
   */
  consume(
    subscriptionId: string,
    meters: (typeof Consumption.Encoded)["meters"],
    options?: IdempotentCallOptions
  ): Promise<QuotasJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<
  CheckMethods<typeof SubscriptionsApi, SubscriptionsMethods & Pick<QuotaMethods, "quotas">>
>
