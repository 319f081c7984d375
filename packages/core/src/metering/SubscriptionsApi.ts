/**
 * Declares the HTTP endpoints of subscriptions and their quotas. `http/handlers/SubscriptionsHttp.ts` implements them.
 * `consume` responds with 429 when a quota is exceeded.
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
  PreconditionFailedProblem,
  QuotaExceededProblem,
  SubscriptionExternalIdTakenProblem,
  SubscriptionNotActiveProblem,
  SubscriptionNotFoundProblem,
  UnknownMeterProblem,
  UnknownPlanProblem
} from "../api/problems.ts"
import { emptyQuery, pagination } from "../api/query.ts"
import { Page } from "../schema/Page.ts"
import { Consumption, Quotas } from "./Quota.ts"
import { Subscription, SubscriptionCreate, SubscriptionStatus, SubscriptionUpdate } from "./Subscription.ts"

const bucketParams = { bucketId: Schema.String }
const subscriptionParams = { ...bucketParams, subscriptionId: Schema.String }

export class SubscriptionsApi extends HttpApiGroup.make("subscriptions")
  .add(
    HttpApiEndpoint.get("list", "/metering/:bucketId/subscriptions", {
      params: bucketParams,
      query: {
        ...pagination,
        customerKey: Schema.optionalKey(Schema.String),
        subscriptionExternalId: Schema.optionalKey(Schema.String),
        customerExternalId: Schema.optionalKey(Schema.String),
        status: Schema.optionalKey(SubscriptionStatus)
      },
      success: Page(Subscription),
      error: [MeteringBucketNotFoundProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "List subscriptions"),
    HttpApiEndpoint.post("create", "/metering/:bucketId/subscriptions", {
      params: bucketParams,
      payload: SubscriptionCreate,
      success: withETagHeader(Subscription),
      error: [
        MeteringBucketNotFoundProblem,
        UnknownPlanProblem,
        SubscriptionExternalIdTakenProblem,
        ...idempotencyProblems,
        ...bodyProblems
      ]
    }).annotate(OpenApi.Summary, "Create a subscription"),
    HttpApiEndpoint.get("get", "/metering/:bucketId/subscriptions/:subscriptionId", {
      params: subscriptionParams,
      success: withETagHeader(Subscription),
      error: [MeteringBucketNotFoundProblem, SubscriptionNotFoundProblem]
    }).annotate(OpenApi.Summary, "Get a subscription"),
    HttpApiEndpoint.patch("update", "/metering/:bucketId/subscriptions/:subscriptionId", {
      params: subscriptionParams,
      query: emptyQuery,
      headers: ifMatchHeader,
      payload: SubscriptionUpdate,
      success: withETagHeader(Subscription),
      error: [
        MeteringBucketNotFoundProblem,
        SubscriptionNotFoundProblem,
        UnknownPlanProblem,
        PreconditionFailedProblem,
        ...bodyProblems
      ]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Update a subscription"),
    HttpApiEndpoint.delete("remove", "/metering/:bucketId/subscriptions/:subscriptionId", {
      params: subscriptionParams,
      query: emptyQuery,
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [MeteringBucketNotFoundProblem, SubscriptionNotFoundProblem, PreconditionFailedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Delete a subscription"),
    HttpApiEndpoint.get("quotas", "/metering/:bucketId/subscriptions/:subscriptionId/quotas", {
      params: subscriptionParams,
      success: Quotas,
      error: [MeteringBucketNotFoundProblem, SubscriptionNotFoundProblem]
    }).annotate(OpenApi.Summary, "Get a subscription's quotas and usage in the current period"),
    HttpApiEndpoint.post("consume", "/metering/:bucketId/subscriptions/:subscriptionId/quotas/consume", {
      params: subscriptionParams,
      payload: Consumption,
      success: Quotas,
      error: [
        MeteringBucketNotFoundProblem,
        SubscriptionNotFoundProblem,
        SubscriptionNotActiveProblem,
        UnknownMeterProblem,
        QuotaExceededProblem,
        ...idempotencyProblems,
        ...bodyProblems
      ]
    }).annotate(OpenApi.Summary, "Consume one or more meters atomically")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(HttpApi.PayloadParseOptions, rejectUnknown)
  .annotateMerge(OpenApi.annotations({ title: "Subscriptions" })) {}
