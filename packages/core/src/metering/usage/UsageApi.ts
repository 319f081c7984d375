/**
 * Declares the operations on usage: its history, usage that is recorded after the fact, and reservations. `UsageHistory.ts`,
 * `Usage.ts` and `Reservations.ts` implement them.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../../api/Authenticated.ts"
import { bodyErrors, idempotencyErrors } from "../../api/errors.ts"
import { idempotencyKeyHeader } from "../../api/headers.ts"
import type { CallOptions, IdempotentCallOptions, Input } from "../../api/Methods.ts"
import { Owner } from "../../api/Owner.ts"
import { optional, parameters } from "../../api/parameters.ts"
import { noQuery } from "../../api/query.ts"
import { rejectUnknown } from "../../api/rejectUnknown.ts"
import { withCsv } from "../../api/withCsv.ts"
import { withRateLimits } from "../../api/withRateLimits.ts"
import { RateLimited } from "../../rateLimits/RateLimitError.ts"
import { MeterName } from "../../schema/Names.ts"
import { ShortText } from "../../schema/Text.ts"
import { Timestamp } from "../../schema/Timestamp.ts"
import { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { Amounts, Quotas, type QuotasJson } from "../model/Quota.ts"
import { QuotaExceeded, SubscriptionNotActive, UnknownMeter } from "../model/QuotaError.ts"
import { Reservation, ReservationCreate, type ReservationJson, Settlement } from "../model/Reservation.ts"
import {
  ReservationExpired,
  ReservationLimit,
  ReservationNotFound,
  ReservationSettled
} from "../model/ReservationError.ts"
import { SubscriptionNotFound } from "../model/SubscriptionError.ts"
import { toCsv, UsageSeries, type UsageSeriesJson, UsageStep } from "../model/UsageSeries.ts"
import type { QuotaMethods } from "../subscriptions/SubscriptionsApi.ts"

const bucketParams = { bucketId: Schema.String }
const subscriptionParams = { ...bucketParams, subscriptionId: Schema.String }
const reservationParams = { ...subscriptionParams, reservationId: Schema.String }

const range = {
  from: optional(Timestamp, { description: "Where the series starts. By default it has 30 steps." }),
  to: optional(Timestamp, { description: "Where the series ends, exclusive. Default: the end of the present step." }),
  meter: optional(MeterName, { description: "Return only this meter." })
}

const Series = withCsv(UsageSeries, toCsv)

/** Usage of a customer, counted after the fact. */
export const UsageRecord = Schema.Struct({ customerKey: ShortText, meters: Amounts }).annotate({
  identifier: "UsageRecord"
})

const countingErrors = [MeteringBucketNotFound, SubscriptionNotFound, SubscriptionNotActive, UnknownMeter] as const
const closingErrors = [
  MeteringBucketNotFound,
  SubscriptionNotFound,
  ReservationNotFound,
  ReservationSettled,
  ReservationExpired
] as const

export class UsageApi extends HttpApiGroup.make("usage")
  .add(
    HttpApiEndpoint.get("series", "/metering/:bucketId/subscriptions/:subscriptionId/usage", {
      params: subscriptionParams,
      query: parameters({
        step: optional(UsageStep, { description: "The length of a step, in UTC. Default: `day`." }),
        ...range
      }),
      success: Series,
      error: [MeteringBucketNotFound, SubscriptionNotFound, UnknownMeter]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Get the usage of a subscription over time")
      .annotate(
        OpenApi.Description,
        "Returns whole clock hours or days in UTC, or periods of the quotas, oldest first and with zeros in " +
          "the gaps. By default these are the last 30 steps; more than 1,000 get 400. Hours are kept for 8 " +
          "days, days for 400. With `Accept: text/csv` the response is CSV."
      ),
    HttpApiEndpoint.get("totals", "/metering/:bucketId/usage", {
      params: bucketParams,
      query: parameters({
        step: optional(Schema.Literal("day"), { description: "The length of a step: `day`, in UTC." }),
        ...range
      }),
      success: Series,
      error: [MeteringBucketNotFound, UnknownMeter]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Get the usage of all subscriptions of a metering bucket over time")
      .annotate(
        OpenApi.Description,
        "Returns whole days in UTC, oldest first and with zeros in the gaps. By default these are the last " +
          "30 days; more than 1,000 get 400. Days are kept for 400 days, also those of deleted subscriptions. " +
          "With `Accept: text/csv` the response is CSV."
      ),
    HttpApiEndpoint.post("record", "/metering/:bucketId/usage", {
      params: bucketParams,
      headers: idempotencyKeyHeader,
      payload: UsageRecord,
      success: Quotas,
      error: [...countingErrors, QuotaExceeded, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Record usage of a customer after the fact, also above the maximum")
      .annotate(
        OpenApi.Description,
        "Counts on the customer's newest subscription that allows usage and has all the meters. No quota and " +
          "no rate limit refuses it. A customer without a subscription gets 404, and one without a " +
          "subscription that allows usage 403."
      ),
    HttpApiEndpoint.post("reserve", "/metering/:bucketId/subscriptions/:subscriptionId/quotas/reserve", {
      params: subscriptionParams,
      headers: idempotencyKeyHeader,
      payload: ReservationCreate,
      success: withRateLimits(Reservation),
      error: [...countingErrors, RateLimited, QuotaExceeded, ReservationLimit, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Reserve amounts of one or more meters")
      .annotate(
        OpenApi.Description,
        "For work whose cost is known only afterwards. The amounts count as used at once, and are given back " +
          "after `expiresIn` seconds (1 to 3,600, by default 60) unless you settle the reservation. It is " +
          "refused like `consume`: 429 for a quota or a rate limit, 403 for the status. A subscription has at " +
          "most 1,000 open reservations; another one gets 409."
      ),
    HttpApiEndpoint.post(
      "settle",
      "/metering/:bucketId/subscriptions/:subscriptionId/quotas/reservations/:reservationId/settle",
      {
        params: reservationParams,
        headers: idempotencyKeyHeader,
        payload: Settlement,
        success: Quotas,
        error: [...closingErrors, ...idempotencyErrors, ...bodyErrors]
      }
    )
      .annotate(OpenApi.Summary, "Settle a reservation at what was used, and give back the rest")
      .annotate(
        OpenApi.Description,
        "Each amount is 0 to what was reserved; more gets 400. Meters that you do not name settle at 0. The " +
          "status of the subscription does not matter. A reservation that was settled or released, or that has " +
          "expired, gets 409, and a day later 404."
      ),
    HttpApiEndpoint.delete(
      "release",
      "/metering/:bucketId/subscriptions/:subscriptionId/quotas/reservations/:reservationId",
      {
        params: reservationParams,
        query: noQuery,
        headers: idempotencyKeyHeader,
        success: HttpApiSchema.NoContent,
        error: [...closingErrors, ...idempotencyErrors]
      }
    )
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Release a reservation: give back all that it holds")
      .annotate(
        OpenApi.Description,
        "The same as settling every meter at 0. A reservation that was settled or released, or that has " +
          "expired, gets 409, and a day later 404."
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Owner, "metering-bucket")
  .annotate(HttpApi.PayloadParseOptions, rejectUnknown)
  .annotateMerge(
    OpenApi.annotations({
      title: "Usage",
      description: "Usage over time, usage that is recorded after the fact, and reservations."
    })
  ) {}

/** The range of a series, in whole steps. */
interface SeriesOptions extends CallOptions {
  /** Where the series starts. By default it has 30 steps. */
  readonly from?: string | Date | undefined
  /** Where the series ends, exclusive. Default: the end of the present step. */
  readonly to?: string | Date | undefined
  /** Return only this meter. */
  readonly meter?: string | undefined
}

/** The usage of a metering bucket. */
export interface UsageMethods extends QuotaMethods {
  /** Returns the usage of a subscription over time: clock hours and days in UTC, or the periods of its quotas. */
  series(
    subscriptionId: string,
    options?: SeriesOptions & { readonly step?: UsageStep | undefined }
  ): Promise<UsageSeriesJson>
  /** Returns the usage of all subscriptions of the metering bucket, per day in UTC. */
  totals(options?: SeriesOptions & { readonly step?: "day" | undefined }): Promise<UsageSeriesJson>
  /**
   * Counts usage of a customer after the fact, on the newest subscription that allows usage and has the meters. Never
   * refuses because of a quota or a rate limit.
   */
  record(input: Input<typeof UsageRecord>, options?: IdempotentCallOptions): Promise<QuotasJson>
  /**
   * Reserves amounts for work whose cost is known only afterwards. They count as used at once, and are given back
   * after `expiresIn` seconds (1 to 3,600, by default 60) unless you settle the reservation.
   */
  reserve(
    subscriptionId: string,
    input: Input<typeof ReservationCreate>,
    options?: IdempotentCallOptions
  ): Promise<ReservationJson>
  /** Settles a reservation at what was used, at most what was reserved. Gives back the rest. */
  settle(
    subscriptionId: string,
    reservationId: string,
    input: Input<typeof Settlement>,
    options?: IdempotentCallOptions
  ): Promise<QuotasJson>
  /** Releases a reservation: gives back all that it holds. */
  release(subscriptionId: string, reservationId: string, options?: IdempotentCallOptions): Promise<void>
}
