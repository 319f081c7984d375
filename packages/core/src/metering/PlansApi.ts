/**
 * Declares the HTTP endpoints of plans. `http/handlers/PlansHttp.ts` implements them.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import { ifMatchHeader, withETagHeader } from "../api/etag.ts"
import { rejectUnknown } from "../api/parseOptions.ts"
import {
  bodyProblems,
  idempotencyProblems,
  MeteringBucketNotFoundProblem,
  PlanExternalIdTakenProblem,
  PlanInUseProblem,
  PlanNotFoundProblem,
  PreconditionFailedProblem
} from "../api/problems.ts"
import { emptyQuery, pagination } from "../api/query.ts"
import { Page } from "../schema/Page.ts"
import { Plan, PlanCreate, PlanUpdate } from "./Plan.ts"

const bucketParams = { bucketId: Schema.String }
const planParams = { ...bucketParams, planId: Schema.String }

export class PlansApi extends HttpApiGroup.make("plans")
  .add(
    HttpApiEndpoint.get("list", "/metering/:bucketId/plans", {
      params: bucketParams,
      query: pagination,
      success: Page(Plan),
      error: [MeteringBucketNotFoundProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "List plans"),
    HttpApiEndpoint.post("create", "/metering/:bucketId/plans", {
      params: bucketParams,
      payload: PlanCreate,
      success: withETagHeader(Plan),
      error: [MeteringBucketNotFoundProblem, PlanExternalIdTakenProblem, ...idempotencyProblems, ...bodyProblems]
    }).annotate(OpenApi.Summary, "Create a plan"),
    HttpApiEndpoint.get("get", "/metering/:bucketId/plans/:planId", {
      params: planParams,
      success: withETagHeader(Plan),
      error: [MeteringBucketNotFoundProblem, PlanNotFoundProblem]
    }).annotate(OpenApi.Summary, "Get a plan"),
    HttpApiEndpoint.patch("update", "/metering/:bucketId/plans/:planId", {
      params: planParams,
      query: emptyQuery,
      headers: ifMatchHeader,
      payload: PlanUpdate,
      success: withETagHeader(Plan),
      error: [
        MeteringBucketNotFoundProblem,
        PlanNotFoundProblem,
        PlanExternalIdTakenProblem,
        PreconditionFailedProblem,
        ...bodyProblems
      ]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Update a plan"),
    HttpApiEndpoint.delete("remove", "/metering/:bucketId/plans/:planId", {
      params: planParams,
      query: emptyQuery,
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [MeteringBucketNotFoundProblem, PlanNotFoundProblem, PlanInUseProblem, PreconditionFailedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Delete a plan that has no subscriptions")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(HttpApi.PayloadParseOptions, rejectUnknown)
  .annotateMerge(OpenApi.annotations({ title: "Plans" })) {}
