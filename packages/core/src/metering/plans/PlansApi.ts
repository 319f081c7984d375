/**
 * Declares the operations on plans. `Plans.ts` implements them.
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
  Versioned,
  WriteCallOptions
} from "../../api/Methods.ts"
import { Area, Owner } from "../../api/Owner.ts"
import { parameters } from "../../api/parameters.ts"
import { noQuery, page } from "../../api/query.ts"
import { withVersion } from "../../api/withVersion.ts"
import { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import {
  EnsuredPlans,
  type EnsuredPlansJson,
  Plan,
  PlanCreate,
  type PlanJson,
  PlansEnsure,
  PlanUpdate
} from "../model/Plan.ts"
import { PlanExternalIdTaken, PlanInUse, PlanNotFound } from "../model/PlanError.ts"

const bucketParams = { bucketId: Schema.String }
const planParams = { ...bucketParams, planId: Schema.String }

export class PlansApi extends HttpApiGroup.make("plans")
  .add(
    HttpApiEndpoint.get("list", "/metering/:bucketId/plans", {
      params: bucketParams,
      query: parameters(page),
      success: Page(Plan),
      error: [MeteringBucketNotFound]
    })
      .annotate(OpenApi.Summary, "List plans")
      .annotate(
        OpenApi.Description,
        "Returns the plans of the metering bucket, oldest first. A plan can be deleted if its " +
          "`hasSubscriptions` is `false`."
      ),
    HttpApiEndpoint.post("create", "/metering/:bucketId/plans", {
      params: bucketParams,
      headers: idempotencyKeyHeader,
      payload: PlanCreate,
      success: withVersion(Plan),
      error: [MeteringBucketNotFound, PlanExternalIdTaken, LimitReached, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Create a plan")
      .annotate(
        OpenApi.Description,
        "`meters` sets the maximum of each meter in a period, and `rateLimits` the rates of requests, both " +
          "for each subscription. The `period` of a meter is that of the subscription by default; `hour`, `day` and " +
          "`week` (from Monday) are those of the clock in UTC, `month` and `year` begin at the anchor of the " +
          "subscription, and `none` never ends. With `isSoftLimit`, use above `max` is counted and not refused, up to " +
          "`overageMax` if it is set. `planExternalId` is the id of the plan in your billing system; one that is " +
          "taken in the metering bucket gets 409. `trialDays` and `trialEndStatus` apply to subscriptions that " +
          "are created with the status `trialing`."
      ),
    HttpApiEndpoint.put("ensure", "/metering/:bucketId/plans", {
      params: bucketParams,
      query: noQuery,
      payload: PlansEnsure,
      success: EnsuredPlans,
      error: [MeteringBucketNotFound, PlanInUse, LimitReached, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Create or update plans, so that they are as a list says")
      .annotate(
        OpenApi.Description,
        "Creates each plan whose `planExternalId` the metering bucket does not have, and updates each that differs, all in " +
          "one commit or nothing. A field that a plan of the list leaves out is removed; plans that are not in the list " +
          "stay. The response says for each plan whether it was `created`, `updated` or `unchanged`, and which " +
          "fields an update has changed. Send the same list at every start, also from several processes at once. The " +
          "`period` of a meter cannot change while the plan has subscriptions: that gets 409 `plan-in-use`."
      ),
    HttpApiEndpoint.get("get", "/metering/:bucketId/plans/:planId", {
      params: planParams,
      success: withVersion(Plan),
      error: [MeteringBucketNotFound, PlanNotFound]
    })
      .annotate(OpenApi.Summary, "Get a plan")
      .annotate(OpenApi.Description, "`hasSubscriptions` is `true` while a subscription in any status has the plan."),
    HttpApiEndpoint.patch("update", "/metering/:bucketId/plans/:planId", {
      params: planParams,
      query: noQuery,
      headers: ifMatchHeader,
      payload: PlanUpdate,
      success: withVersion(Plan),
      error: [
        MeteringBucketNotFound,
        PlanNotFound,
        PlanExternalIdTaken,
        PlanInUse,
        LimitReached,
        VersionMismatch,
        ...bodyErrors
      ]
    })
      .annotate(OpenApi.Summary, "Update a plan")
      .annotate(
        OpenApi.Description,
        "Fields that are not in the body stay unchanged. `meters` and `rateLimits` replace the previous " +
          "object; an empty `rateLimits` removes all. New maxima and rates apply to all subscriptions of the " +
          "plan at once, and usage so far is kept. The `period` of a meter cannot change while the plan has " +
          "subscriptions: that gets 409 `plan-in-use`. A `planExternalId` that is taken gets 409; with `If-Match`, " +
          "a plan that has changed since gets 412."
      ),
    HttpApiEndpoint.delete("remove", "/metering/:bucketId/plans/:planId", {
      params: planParams,
      query: noQuery,
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [MeteringBucketNotFound, PlanNotFound, PlanInUse, VersionMismatch]
    })
      .annotate(OpenApi.Summary, "Delete a plan that has no subscriptions")
      .annotate(
        OpenApi.Description,
        "A plan that a subscription in any status has gets 409. With `If-Match`, " +
          "a plan that has changed since gets 412."
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "metering")
  .annotate(Owner, "metering-bucket")
  .annotateMerge(
    OpenApi.annotations({ title: "Plans", description: "The maximum of each meter in a period, and rate limits." })
  ) {}

type PlanCreateJson = Input<typeof PlanCreate>

/** A plan to create. Of `label` and `planExternalId`, one is enough: it is used for both. */
export type PlanCreateInput = Omit<PlanCreateJson, "label" | "planExternalId"> &
  (
    | { readonly label: string; readonly planExternalId?: string | undefined }
    | { readonly label?: string | undefined; readonly planExternalId: string }
  )

/** The plans of a metering bucket. */
export interface PlansMethods {
  /** Returns a page of plans, oldest first. Iterate over it to get all pages. */
  list(options?: PageOptions): PagePromise<PlanJson>
  /** Creates a plan. */
  create(input: PlanCreateInput, options?: IdempotentCallOptions): Promise<Versioned<PlanJson>>
  /**
   * Creates the plans that do not exist, by `planExternalId`, and updates those that differ, in one commit. A field that a plan
   * leaves out is removed; plans that are not in the list stay. Call it at every start.
   *
   * @example
   * ```ts
   * const { data } = await billing.plans.ensure([{ planExternalId: "free", meters: { requests: { max: 1000 } } }])
   * for (const { outcome, plan } of data) console.log(plan.planExternalId, outcome)
   * ```
   */
  ensure(plans: ReadonlyArray<PlanCreateInput>, options?: WriteCallOptions): Promise<EnsuredPlansJson>
  /** Returns a plan. */
  get(planId: string, options?: CallOptions): Promise<Versioned<PlanJson>>
  /** Updates the fields in `patch`. */
  update(
    planId: string,
    patch: Input<typeof PlanUpdate>,
    options?: ConditionalCallOptions
  ): Promise<Versioned<PlanJson>>
  /** Deletes a plan. Rejects with `PlanInUse` if it has subscriptions. */
  remove(planId: string, options?: ConditionalCallOptions): Promise<void>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof PlansApi, PlansMethods>>
