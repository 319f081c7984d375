/**
 * Declares the operations on customers. `Customers.ts` implements them.
 */

import { InvalidInput, Page, SearchText, ShortText } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../../api/checkMethods.ts"
import { bodyErrors, idempotencyErrors } from "../../api/errors.ts"
import { idempotencyKeyHeader } from "../../api/headers.ts"
import type {
  CallOptions,
  FoundPromise,
  IdempotentCallOptions,
  Input,
  PageOptions,
  PagePromise,
  Versioned,
  WriteCallOptions
} from "../../api/Methods.ts"
import { Area, NarrowPermissions, Owner } from "../../api/Owner.ts"
import { optional, parameters } from "../../api/parameters.ts"
import { givenOffset, includeUsage, noQuery, page } from "../../api/query.ts"
import { withLines } from "../../api/withLines.ts"
import { withRateLimits } from "../../api/withRateLimits.ts"
import { withVersion } from "../../api/withVersion.ts"
import { RateLimited } from "../../rateLimits/RateLimitError.ts"
import { Adjustment, Customer, type CustomerJson, ListedCustomer, type ListedCustomerJson } from "../model/Customer.ts"
import { BelowZero, CustomerNotFound, OutsidePeriod } from "../model/CustomerError.ts"
import { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { newSubscriptionErrors } from "../model/newSubscriptionErrors.ts"
import { Cancellation, PlanChange } from "../model/PlanChange.ts"
import { Consumption, Quotas, type QuotasJson } from "../model/Quota.ts"
import { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "../model/QuotaError.ts"
import { Reservation, ReservationCreate, type ReservationJson, Settlement } from "../model/Reservation.ts"
import {
  ReservationExpired,
  ReservationLimit,
  ReservationNotFound,
  ReservationSettled
} from "../model/ReservationError.ts"
import { Subscription, type SubscriptionJson } from "../model/Subscription.ts"
import { PendingChangeNotFound } from "../model/SubscriptionError.ts"
import { type UsageSeriesJson, UsageStep } from "../model/UsageSeries.ts"
import { groupsDescription, Series, type SeriesOptions, seriesRange } from "../usage/UsageApi.ts"

const bucketParams = { bucketId: Schema.String }
const customerParams = { ...bucketParams, customerKey: Schema.String }

const countingErrors = [MeteringBucketNotFound, CustomerNotFound, SubscriptionNotActive, UnknownMeter] as const

const chosenSubscription =
  "The newest subscription of the customer counts that allows usage and has all the meters. A customer without a " +
  "subscription gets 404, and one without a subscription that allows usage 403."

const search = optional(SearchText, {
  description:
    "Return the customers whose `customerKey` begins with a text of 2 to 32 characters, without regard to case: at most 100, " +
    "without `total`. Cannot be combined with `offset` or `after`.",
  openApiSchema: { type: "string", minLength: 2, maxLength: 32 }
})

/** A page of customers. What a search has found is not counted. */
const CustomerPage = Schema.Struct({
  ...Page(ListedCustomer).fields,
  total: Schema.optionalKey(Page(ListedCustomer).fields.total)
})

export class CustomersApi extends HttpApiGroup.make("customers")
  .add(
    HttpApiEndpoint.get("list", "/metering/:bucketId/customers", {
      params: bucketParams,
      query: parameters({ ...page, offset: givenOffset, search, include: includeUsage }),
      success: withLines(CustomerPage),
      error: [InvalidInput, MeteringBucketNotFound]
    })
      .annotate(OpenApi.Summary, "List customers")
      .annotate(
        OpenApi.Description,
        "Returns the customers of the metering bucket, oldest first: every `customerKey` with a subscription in any " +
          "status, or a grant. With `search`, the customer whose key is the text comes first, and then the newest. With " +
          "`Accept: application/x-ndjson`, the response has all customers from there on, a line each, whatever `limit` is."
      ),
    HttpApiEndpoint.get("get", "/metering/:bucketId/customers/:customerKey", {
      params: customerParams,
      success: Customer,
      error: [MeteringBucketNotFound, CustomerNotFound]
    })
      .annotate(OpenApi.Summary, "Get a customer")
      .annotate(
        OpenApi.Description,
        "Returns the newest 20 subscriptions of the customer, and what it may use. Each meter is that of the newest " +
          "subscription that allows usage and has it. Open reservations count as used. `grants` says how many active grants a " +
          "meter has, and when the next of them expires. Percent-encode the `customerKey`."
      ),
    HttpApiEndpoint.post("consume", "/metering/:bucketId/customers/:customerKey/consume", {
      params: customerParams,
      headers: idempotencyKeyHeader,
      payload: Consumption,
      success: withRateLimits(Quotas),
      error: [...countingErrors, RateLimited, QuotaExceeded, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Consume one or more meters of a customer atomically")
      .annotate(OpenApi.Description, `Counts like \`consume\` of a subscription. ${chosenSubscription}`),
    HttpApiEndpoint.post("reserve", "/metering/:bucketId/customers/:customerKey/reserve", {
      params: customerParams,
      headers: idempotencyKeyHeader,
      payload: ReservationCreate,
      success: withRateLimits(Reservation),
      error: [...countingErrors, RateLimited, QuotaExceeded, ReservationLimit, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Reserve amounts of one or more meters of a customer")
      .annotate(OpenApi.Description, `Reserves like \`reserve\` of a subscription. ${chosenSubscription}`),
    HttpApiEndpoint.post("settle", "/metering/:bucketId/customers/:customerKey/reservations/:reservationId/settle", {
      params: { ...customerParams, reservationId: Schema.String },
      headers: idempotencyKeyHeader,
      payload: Settlement,
      success: Quotas,
      error: [
        MeteringBucketNotFound,
        CustomerNotFound,
        ReservationNotFound,
        ReservationSettled,
        ReservationExpired,
        ...idempotencyErrors,
        ...bodyErrors
      ]
    })
      .annotate(OpenApi.Summary, "Settle a reservation of a customer at what was used, and give back the rest")
      .annotate(
        OpenApi.Description,
        "Each amount is 0 to what was reserved; more gets 400. Meters that you do not name settle at 0, so that " +
          "`meters: {}` gives all back. The status of the subscription does not matter."
      ),
    HttpApiEndpoint.post("adjust", "/metering/:bucketId/customers/:customerKey/adjust", {
      params: customerParams,
      headers: idempotencyKeyHeader,
      payload: Adjustment,
      success: Quotas,
      error: [...countingErrors, BelowZero, OutsidePeriod, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Correct what a customer has used")
      .annotate(
        OpenApi.Description,
        "Adds `amount` to the quota and to the history of the present period, or takes it back if it is negative. It may " +
          "lead above the maximum. To take back more than was used gets 422 `below-zero`, another period than the present " +
          `one 422 \`outside-period\`. The event \`usage.adjusted\` says who did it and why. ${chosenSubscription}`
      ),
    HttpApiEndpoint.post("changePlan", "/metering/:bucketId/customers/:customerKey/plan", {
      params: { ...bucketParams, customerKey: ShortText },
      headers: idempotencyKeyHeader,
      payload: PlanChange,
      success: withVersion(Subscription),
      error: [...newSubscriptionErrors, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(NarrowPermissions, { "subscriptions:write": () => true })
      .annotate(OpenApi.Summary, "Change the plans of a customer")
      .annotate(
        OpenApi.Description,
        "Changes the newest subscription that allows usage, and returns it: `now`, with `prorate` as in an update of the " +
          "subscription, or at `period-end`, exactly when the present period ends. Until then the subscription has a " +
          "`pendingChange`; the last one counts, an update of plans or status withdraws it, and its plans are in use. The " +
          "present plans withdraw it, too. A customer without a subscription that allows usage begins at once: with the one " +
          "that was canceled in its present period, which keeps its id, its periods and what was used, otherwise with a new one."
      ),
    HttpApiEndpoint.post("cancel", "/metering/:bucketId/customers/:customerKey/cancel", {
      params: customerParams,
      headers: idempotencyKeyHeader,
      payload: Cancellation,
      success: withVersion(Subscription),
      error: [MeteringBucketNotFound, CustomerNotFound, SubscriptionNotActive, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(NarrowPermissions, { "subscriptions:write": () => true })
      .annotate(OpenApi.Summary, "Cancel the subscription of a customer")
      .annotate(
        OpenApi.Description,
        "Cancels the newest subscription that allows usage, and returns it: `now`, or at `period-end`, exactly when the " +
          "present period ends. Until then it allows usage and has a `pendingChange`. A customer without a subscription gets " +
          "404, and one without a subscription that allows usage 403. Send an `Idempotency-Key` if the customer has " +
          "several subscriptions: a retry would cancel the next one."
      ),
    HttpApiEndpoint.delete("withdrawPendingChange", "/metering/:bucketId/customers/:customerKey/pending-change", {
      params: customerParams,
      query: noQuery,
      success: HttpApiSchema.NoContent,
      error: [MeteringBucketNotFound, CustomerNotFound, PendingChangeNotFound]
    })
      .annotate(NarrowPermissions, { "subscriptions:write": () => true })
      .annotate(OpenApi.Summary, "Withdraw the pending change of a customer")
      .annotate(
        OpenApi.Description,
        "The customer keeps its plans and its subscription when the period ends. If several subscriptions have a pending " +
          "change, withdraws that of the newest. Without one, or when it has acted, the request gets 404."
      ),
    HttpApiEndpoint.get("series", "/metering/:bucketId/customers/:customerKey/usage", {
      params: customerParams,
      query: parameters({
        step: optional(UsageStep, { description: "The length of a step, in UTC. Default: `day`." }),
        ...seriesRange
      }),
      success: Series,
      error: [MeteringBucketNotFound, CustomerNotFound, UnknownMeter]
    })
      .annotate(OpenApi.Summary, "Get the usage of a customer over time")
      .annotate(
        OpenApi.Description,
        "Returns the usage of the newest subscription that allows usage and has the meter, or of the newest one, if none " +
          `allows usage. The series is that of \`GET …/subscriptions/{subscriptionId}/usage\`. ${groupsDescription}`
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "metering")
  .annotate(Owner, "metering-bucket")
  .annotateMerge(
    OpenApi.annotations({
      title: "Customers",
      description: "Those who use and pay: what a customer may use over all its subscriptions."
    })
  ) {}

interface ListOptions extends PageOptions {
  /** `"usage"` adds the meters of each customer. A page has at most 100 customers then. */
  readonly include?: "usage" | undefined
}

/** The customers of a metering bucket. */
export interface CustomersMethods {
  /** Returns a page of the customers, oldest first. Iterate over it to get all pages. */
  list(options?: ListOptions & { readonly search?: undefined }): PagePromise<ListedCustomerJson>
  /** Returns the customers whose key begins with a text, at most 100: the key itself first, then the newest. */
  list(
    options?: ListOptions & {
      /** 2 to 32 characters, without regard to case. */
      readonly search?: string | undefined
    }
  ): FoundPromise<ListedCustomerJson>
}

/**
 * A customer. What it uses counts on its newest subscription that allows usage and has the meters. Rejects with
 * `CustomerNotFound` if it has no subscription.
 */
export interface CustomerMethods {
  /** Returns the subscriptions of the customer, and what it may use of each meter. */
  get(options?: CallOptions): Promise<CustomerJson>
  /** Consumes one or more meters atomically. Rejects with `QuotaExceeded` and `RateLimited`, as `usage.consume` does. */
  consume(meters: (typeof Consumption.Encoded)["meters"], options?: IdempotentCallOptions): Promise<QuotasJson>
  /** Reserves amounts for work whose cost is known only afterwards. */
  reserve(input: Input<typeof ReservationCreate>, options?: IdempotentCallOptions): Promise<ReservationJson>
  /** Settles a reservation at what was used, at most what was reserved. Gives back the rest. */
  settle(reservationId: string, input: Input<typeof Settlement>, options?: IdempotentCallOptions): Promise<QuotasJson>
  /** Corrects what was used in the present period: `amount` is added, or taken back if it is negative. */
  adjust(input: Input<typeof Adjustment>, options?: IdempotentCallOptions): Promise<QuotasJson>
  /**
   * Changes the plans of the newest subscription that allows usage, now or when its period ends. Without one, the customer
   * returns to the subscription that was canceled in its present period, or gets a new one.
   */
  changePlan(input: Input<typeof PlanChange>, options?: IdempotentCallOptions): Promise<Versioned<SubscriptionJson>>
  /** Cancels the newest subscription that allows usage, now or when its period ends. */
  cancel(input: Input<typeof Cancellation>, options?: IdempotentCallOptions): Promise<Versioned<SubscriptionJson>>
  /** Withdraws what was to change when the period ends. Rejects with `PendingChangeNotFound` if nothing was. */
  withdrawPendingChange(options?: WriteCallOptions): Promise<void>
  /** Returns the usage of the customer over time. */
  series(options?: SeriesOptions & { readonly step?: UsageStep | undefined }): Promise<UsageSeriesJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof CustomersApi, CustomersMethods & CustomerMethods>>
