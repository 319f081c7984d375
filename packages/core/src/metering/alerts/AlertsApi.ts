/**
 * Declares the operations on alerts. `Alerts.ts` implements them.
 */

import { InvalidInput, Page } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { LimitReached } from "../../accounts/limits/LimitReached.ts"
import { Authenticated } from "../../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../../api/checkMethods.ts"
import { bodyErrors, idempotencyErrors } from "../../api/errors.ts"
import { idempotencyKeyHeader } from "../../api/headers.ts"
import type {
  CallOptions,
  IdempotentCallOptions,
  Input,
  PageOptions,
  PagePromise,
  WriteCallOptions
} from "../../api/Methods.ts"
import { Area, Owner } from "../../api/Owner.ts"
import { parameters } from "../../api/parameters.ts"
import { noQuery, page } from "../../api/query.ts"
import { Alert, AlertCreate, type AlertJson } from "../model/Alert.ts"
import { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { UnknownMeter } from "../model/QuotaError.ts"
import { AlertNotFound, TooManyAlerts } from "./AlertError.ts"

const params = { bucketId: Schema.String, customerKey: Schema.String }
const alertParams = { ...params, alertId: Schema.String }

export class AlertsApi extends HttpApiGroup.make("alerts")
  .add(
    HttpApiEndpoint.get("list", "/metering/:bucketId/customers/:customerKey/alerts", {
      params,
      query: parameters(page),
      success: Page(Alert),
      error: [InvalidInput, MeteringBucketNotFound]
    })
      .annotate(OpenApi.Summary, "List the alerts of a customer")
      .annotate(OpenApi.Description, "Returns the alerts, oldest first."),
    HttpApiEndpoint.post("create", "/metering/:bucketId/customers/:customerKey/alerts", {
      params,
      headers: idempotencyKeyHeader,
      payload: AlertCreate,
      success: Alert,
      error: [MeteringBucketNotFound, UnknownMeter, TooManyAlerts, LimitReached, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Alert when a customer uses an amount of a meter")
      .annotate(
        OpenApi.Description,
        "Writes the event `alert.triggered` when the customer's use of the meter reaches what `when` has exactly one of: " +
          "`usedShare` (a share of the maximum, above 0 and at most 100), `used` (all use of the period), `remaining` (what " +
          "allowance and credit have left, or less) or `overage` (use above both). The newest subscription counts that allows " +
          "usage and has the meter; the alert waits until there is one. An alert is triggered once in a period of the meter, at " +
          "once if that is reached already. One for `remaining` is triggered when it falls from above, and again only after it " +
          "was above. What is reserved counts when it is settled. A customer may have 20 alerts."
      ),
    HttpApiEndpoint.get("get", "/metering/:bucketId/customers/:customerKey/alerts/:alertId", {
      params: alertParams,
      success: Alert,
      error: [MeteringBucketNotFound, AlertNotFound]
    })
      .annotate(OpenApi.Summary, "Get an alert")
      .annotate(OpenApi.Description, "`lastTriggeredOn` is absent until the alert is triggered."),
    HttpApiEndpoint.delete("remove", "/metering/:bucketId/customers/:customerKey/alerts/:alertId", {
      params: alertParams,
      query: noQuery,
      success: HttpApiSchema.NoContent,
      error: [MeteringBucketNotFound, AlertNotFound]
    })
      .annotate(OpenApi.Summary, "Remove an alert")
      .annotate(
        OpenApi.Description,
        "From its commit on, the alert is not triggered any more. The events that it has triggered stay in the log."
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "metering")
  .annotate(Owner, "metering-bucket")
  .annotateMerge(
    OpenApi.annotations({
      title: "Alerts",
      description: "Events when customers use an amount of a meter, or have little left."
    })
  ) {}

/** The alerts of a customer. */
export interface AlertsMethods {
  /** Returns a page of the alerts, oldest first. Iterate over it to get all pages. */
  list(options?: PageOptions): PagePromise<AlertJson>
  /**
   * Writes the event `alert.triggered` when the customer's use of a meter reaches an amount, or little of it remains.
   *
   * @example
   * ```ts
   * await billing.customer("alice").alerts.create({ meter: "tokens", when: { remaining: 10_000 } })
   * ```
   */
  create(input: Input<typeof AlertCreate>, options?: IdempotentCallOptions): Promise<AlertJson>
  get(alertId: string, options?: CallOptions): Promise<AlertJson>
  remove(alertId: string, options?: WriteCallOptions): Promise<void>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof AlertsApi, AlertsMethods>>
