/**
 * Declares the operations on usage: its history, usage that is recorded after the fact, and reservations. `UsageHistory.ts`,
 * `Usage.ts` and `Reservations.ts` implement them.
 */

import { InvalidInput, MeterName, ShortText, Timestamp, UnsupportedMediaType } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../../api/checkMethods.ts"
import { bodyErrors, idempotencyErrors } from "../../api/errors.ts"
import { idempotencyKeyHeader } from "../../api/headers.ts"
import type { CallOptions, IdempotentCallOptions, Input, PageOptions, PagePromise } from "../../api/Methods.ts"
import { Area, Owner } from "../../api/Owner.ts"
import { optional, parameters } from "../../api/parameters.ts"
import { noQuery, page } from "../../api/query.ts"
import { withCsv } from "../../api/withCsv.ts"
import { withLines } from "../../api/withLines.ts"
import { withRateLimits } from "../../api/withRateLimits.ts"
import { RateLimited } from "../../rateLimits/RateLimitError.ts"
import { Labels } from "../model/Labels.ts"
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
import {
  Day,
  Month,
  maxTopCustomers,
  type SubscriptionUsageJson,
  SubscriptionUsagePage,
  TopCustomers,
  type TopCustomersJson,
  toTopCsv,
  toUsageCsv
} from "../model/SubscriptionUsage.ts"
import {
  batchMediaType,
  maxEvents,
  RecordedEvents,
  type RecordedEventsJson,
  type UsageEventJson,
  UsageEvents
} from "../model/UsageEvent.ts"
import { GroupBy, maxValues } from "../model/UsageGroup.ts"
import { toCsv, UsageSeries, type UsageSeriesJson, UsageStep } from "../model/UsageSeries.ts"
import type { QuotaMethods } from "../subscriptions/SubscriptionsApi.ts"

const bucketParams = { bucketId: Schema.String }
const subscriptionParams = { ...bucketParams, subscriptionId: Schema.String }
const reservationParams = { ...subscriptionParams, reservationId: Schema.String }

export const seriesRange = {
  from: optional(Timestamp, { description: "Where the series starts. By default it has 30 steps." }),
  to: optional(Timestamp, { description: "Where the series ends, exclusive. Default: the end of the present step." }),
  meter: optional(MeterName, { description: "Return only this meter." }),
  groupBy: optional(GroupBy, {
    description: "Also return what was used by `key`, or by the values of a label: `label:model`. With `step=day`."
  })
}

/** What `groupBy` adds to a series. */
export const groupsDescription =
  "`groupBy` adds to each day its `groups` by key or by a label, at most 15 seconds late: at most " +
  `${maxValues.subscription} of a subscription and ${maxValues.bucket} of a metering bucket, \`other\` for the rest of them, and \`unknown\` ` +
  "for what was used without."

export const Series = withCsv(UsageSeries, toCsv)

/** Usage of a customer, counted after the fact. */
export const UsageRecord = Schema.Struct({
  customerKey: ShortText,
  meters: Amounts,
  labels: Schema.optionalKey(Labels)
}).annotate({ identifier: "UsageRecord" })

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
        ...seriesRange
      }),
      success: Series,
      error: [MeteringBucketNotFound, SubscriptionNotFound, UnknownMeter]
    })
      .annotate(OpenApi.Summary, "Get the usage of a subscription over time")
      .annotate(
        OpenApi.Description,
        "Returns whole clock hours or days in UTC, or periods of the quotas, oldest first and with zeros in " +
          "the gaps. By default these are the last 30 steps; more than 1,000 get 400. Hours are kept for 8 " +
          "days, days for 400. `step=period` has the periods of the subscription; those of a meter with other periods " +
          "need `meter`, and of hours, days and weeks the last 400 are kept. With `Accept: text/csv` the response is CSV. " +
          groupsDescription
      ),
    HttpApiEndpoint.get("totals", "/metering/:bucketId/usage", {
      params: bucketParams,
      query: parameters({
        step: optional(Schema.Literal("day"), { description: "The length of a step: `day`, in UTC." }),
        ...seriesRange
      }),
      success: Series,
      error: [MeteringBucketNotFound, UnknownMeter]
    })
      .annotate(OpenApi.Summary, "Get the usage of all subscriptions of a metering bucket over time")
      .annotate(
        OpenApi.Description,
        "Returns whole days in UTC, oldest first and with zeros in the gaps. By default these are the last " +
          "30 days; more than 1,000 get 400. Days are kept for 400 days, also those of deleted subscriptions. " +
          `With \`Accept: text/csv\` the response is CSV. ${groupsDescription}`
      ),
    HttpApiEndpoint.get("top", "/metering/:bucketId/usage/top", {
      params: bucketParams,
      query: parameters({
        meter: { json: MeterName, wire: MeterName, description: "The meter." },
        day: optional(Day, { description: "A day in UTC. Cannot be combined with `month`." }),
        month: optional(Month, { description: "A month in UTC. By default, the present one." })
      }),
      success: withCsv(TopCustomers, toTopCsv),
      error: [InvalidInput, MeteringBucketNotFound, UnknownMeter]
    })
      .annotate(OpenApi.Summary, "List the customers that used most")
      .annotate(
        OpenApi.Description,
        `Returns the ${maxTopCustomers} customers that used most of a meter on a day or in a month, with all their ` +
          "subscriptions. It is at most 60 seconds old: `asOf` says when it was counted. With `Accept: text/csv` the " +
          "response is CSV."
      ),
    HttpApiEndpoint.get("export", "/metering/:bucketId/usage/export", {
      params: bucketParams,
      query: parameters({
        ...page,
        month: { json: Month, wire: Month, description: "The month, in UTC." }
      }),
      success: withLines(withCsv(SubscriptionUsagePage, toUsageCsv)),
      error: [MeteringBucketNotFound]
    })
      .annotate(OpenApi.Summary, "Export what each customer used in a month")
      .annotate(
        OpenApi.Description,
        "Returns the subscriptions that have ever used something, oldest first, and what each used of its meters in the " +
          "month: the days of the calendar in UTC, not the periods of the quotas. With `Accept: application/x-ndjson` or " +
          "`text/csv`, the response has all of them from there on, whatever `limit` is: as CSV a line for each subscription " +
          "and meter. Open reservations do not count. The present month has what was used so far."
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
          "subscription that allows usage 403. `labels` are up to three words of yours, by which usage can be grouped."
      ),
    HttpApiEndpoint.post("recordEvents", "/metering/:bucketId/usage/events", {
      params: bucketParams,
      headers: idempotencyKeyHeader,
      payload: UsageEvents.pipe(HttpApiSchema.asJson({ contentType: batchMediaType })),
      success: RecordedEvents,
      error: [MeteringBucketNotFound, UnsupportedMediaType, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Record usage as a batch of CloudEvents, each once")
      .annotate(
        OpenApi.Description,
        `Counts up to ${maxEvents.toLocaleString("en")} CloudEvents 1.0 as \`record\` does: \`subject\` is the customer, \`data.meters\` what it ` +
          "used. `time` is at most 72 hours ago and 10 minutes ahead. Each event is counted once by its `source` and `id`, " +
          "which are remembered for 96 hours, so a batch can be sent again. Usage of an hour that is over is counted in that " +
          "hour; that of an earlier period only in the history, not in the present quota. An event that cannot be counted " +
          "is listed in `rejected` and stops no other."
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
          "status of the subscription does not matter. `labels` replace those of the decision that made the reservation. A " +
          "reservation that was settled or released, or that has expired, gets 409, and a day later 404."
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
      .annotate(OpenApi.Summary, "Release a reservation: give back all that it holds")
      .annotate(
        OpenApi.Description,
        "The same as settling every meter at 0. A reservation that was settled or released, or that has " +
          "expired, gets 409, and a day later 404."
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "metering")
  .annotate(Owner, "metering-bucket")
  .annotateMerge(
    OpenApi.annotations({
      title: "Usage",
      description: "Usage over time, usage that is recorded after the fact, and reservations."
    })
  ) {}

/** The range of a series, in whole steps. */
export interface SeriesOptions extends CallOptions {
  /** Where the series starts. By default it has 30 steps. */
  readonly from?: string | Date | undefined
  /** Where the series ends, exclusive. Default: the end of the present step. */
  readonly to?: string | Date | undefined
  /** Return only this meter. */
  readonly meter?: string | undefined
  /** Also return what was used by `key`, or by the values of a label: `label:model`. */
  readonly groupBy?: string | undefined
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
  /** Returns the customers that used most of a meter on a day or in a month, by default the present one. */
  top(
    options: CallOptions & {
      readonly meter: string
      /** Such as `2026-11-30`. */
      readonly day?: string | undefined
      /** Such as `2026-11`. */
      readonly month?: string | undefined
    }
  ): Promise<TopCustomersJson>
  /** Returns what each subscription used in a month, such as `2026-11`: on the days of the calendar in UTC. */
  export(options: PageOptions & { readonly month: string }): PagePromise<SubscriptionUsageJson>
  /**
   * Counts usage of a customer after the fact, on the newest subscription that allows usage and has the meters. Never
   * refuses because of a quota or a rate limit.
   */
  record(input: Input<typeof UsageRecord>, options?: IdempotentCallOptions): Promise<QuotasJson>
  /**
   * Counts up to 1,000 CloudEvents 1.0 as `record` does, each once by its `source` and `id`: a batch can be sent again. Events
   * that cannot be counted are listed, and stop no other.
   */
  recordEvents(events: ReadonlyArray<UsageEventJson>, options?: IdempotentCallOptions): Promise<RecordedEventsJson>
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

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof UsageApi, UsageMethods>>
