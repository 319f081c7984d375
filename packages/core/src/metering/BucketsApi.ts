/**
 * The HTTP interface of metering buckets.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Access } from "../http/Access.ts"
import { conditions, noQuery, strict, tagged } from "../http/endpoint.ts"
import { paging } from "../http/parameters.ts"
import {
  BucketNotFoundProblem,
  LimitReachedProblem,
  makingOnce,
  PreconditionFailedProblem,
  withBody
} from "../http/problems.ts"
import { AccountName } from "../shared/Names.ts"
import { Page } from "../shared/Page.ts"
import { Bucket, BucketCreate } from "./Bucket.ts"

const item = { bucketId: Schema.String }

export class BucketsApi extends HttpApiGroup.make("buckets")
  .add(
    HttpApiEndpoint.get("list", "/metering", {
      query: { ...paging, accountName: Schema.optionalKey(AccountName) },
      success: Page(Bucket)
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "List metering buckets"),
    HttpApiEndpoint.post("create", "/metering", {
      payload: BucketCreate,
      success: tagged(Bucket),
      error: [LimitReachedProblem, ...makingOnce, ...withBody]
    }).annotate(OpenApi.Summary, "Create a metering bucket"),
    HttpApiEndpoint.get("get", "/metering/:bucketId", {
      params: item,
      success: tagged(Bucket),
      error: [BucketNotFoundProblem]
    }).annotate(OpenApi.Summary, "Read a metering bucket"),
    HttpApiEndpoint.delete("remove", "/metering/:bucketId", {
      params: item,
      query: noQuery,
      headers: conditions,
      success: HttpApiSchema.NoContent,
      error: [BucketNotFoundProblem, PreconditionFailedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "Remove a metering bucket and everything in it")
  )
  .prefix("/v1")
  .middleware(Access)
  .annotate(HttpApi.PayloadParseOptions, strict)
  .annotateMerge(OpenApi.annotations({ title: "Metering buckets" })) {}
