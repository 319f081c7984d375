/**
 * The HTTP interface of plans.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Access } from "../http/Access.ts"
import { conditions, noQuery, strict, tagged } from "../http/endpoint.ts"
import { paging } from "../http/parameters.ts"
import {
  BucketNotFoundProblem,
  makingOnce,
  PlanExternalIdTakenProblem,
  PlanInUseProblem,
  PlanNotFoundProblem,
  PreconditionFailedProblem,
  withBody
} from "../http/problems.ts"
import { Page } from "../shared/Page.ts"
import { Plan, PlanCreate, PlanUpdate } from "./Plan.ts"

const bucket = { bucketId: Schema.String }
const item = { ...bucket, planId: Schema.String }

export class PlansApi extends HttpApiGroup.make("plans")
  .add(
    HttpApiEndpoint.get("list", "/metering/:bucketId/plans", {
      params: bucket,
      query: paging,
      success: Page(Plan),
      error: [BucketNotFoundProblem]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "List plans"),
    HttpApiEndpoint.post("create", "/metering/:bucketId/plans", {
      params: bucket,
      payload: PlanCreate,
      success: tagged(Plan),
      error: [BucketNotFoundProblem, PlanExternalIdTakenProblem, ...makingOnce, ...withBody]
    }).annotate(OpenApi.Summary, "Create a plan"),
    HttpApiEndpoint.get("get", "/metering/:bucketId/plans/:planId", {
      params: item,
      success: tagged(Plan),
      error: [BucketNotFoundProblem, PlanNotFoundProblem]
    }).annotate(OpenApi.Summary, "Read a plan"),
    HttpApiEndpoint.patch("update", "/metering/:bucketId/plans/:planId", {
      params: item,
      query: noQuery,
      headers: conditions,
      payload: PlanUpdate,
      success: tagged(Plan),
      error: [
        BucketNotFoundProblem,
        PlanNotFoundProblem,
        PlanExternalIdTakenProblem,
        PreconditionFailedProblem,
        ...withBody
      ]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "Change a plan"),
    HttpApiEndpoint.delete("remove", "/metering/:bucketId/plans/:planId", {
      params: item,
      query: noQuery,
      headers: conditions,
      success: HttpApiSchema.NoContent,
      error: [BucketNotFoundProblem, PlanNotFoundProblem, PlanInUseProblem, PreconditionFailedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "Remove a plan that nobody has")
  )
  .prefix("/v1")
  .middleware(Access)
  .annotate(HttpApi.PayloadParseOptions, strict)
  .annotateMerge(OpenApi.annotations({ title: "Plans" })) {}
