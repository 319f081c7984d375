/**
 * Declares the HTTP endpoints of metering buckets. `http/handlers/MeteringBucketsHttp.ts` implements them.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import { ifMatchHeader, withETagHeader } from "../api/etag.ts"
import { rejectUnknown } from "../api/parseOptions.ts"
import {
  bodyProblems,
  idempotencyProblems,
  LimitReachedProblem,
  MeteringBucketNotFoundProblem,
  PreconditionFailedProblem
} from "../api/problems.ts"
import { emptyQuery, pagination } from "../api/query.ts"
import { AccountName } from "../schema/Names.ts"
import { Page } from "../schema/Page.ts"
import { MeteringBucket, MeteringBucketCreate } from "./MeteringBucket.ts"

const bucketParams = { bucketId: Schema.String }

export class MeteringBucketsApi extends HttpApiGroup.make("buckets")
  .add(
    HttpApiEndpoint.get("list", "/metering", {
      query: { ...pagination, accountName: Schema.optionalKey(AccountName) },
      success: Page(MeteringBucket)
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "List metering buckets"),
    HttpApiEndpoint.post("create", "/metering", {
      payload: MeteringBucketCreate,
      success: withETagHeader(MeteringBucket),
      error: [LimitReachedProblem, ...idempotencyProblems, ...bodyProblems]
    }).annotate(OpenApi.Summary, "Create a metering bucket"),
    HttpApiEndpoint.get("get", "/metering/:bucketId", {
      params: bucketParams,
      success: withETagHeader(MeteringBucket),
      error: [MeteringBucketNotFoundProblem]
    }).annotate(OpenApi.Summary, "Get a metering bucket"),
    HttpApiEndpoint.delete("remove", "/metering/:bucketId", {
      params: bucketParams,
      query: emptyQuery,
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [MeteringBucketNotFoundProblem, PreconditionFailedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Delete a metering bucket and everything in it")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(HttpApi.PayloadParseOptions, rejectUnknown)
  .annotateMerge(OpenApi.annotations({ title: "Metering buckets" })) {}
