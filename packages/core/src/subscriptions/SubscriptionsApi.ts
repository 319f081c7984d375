/**
 * The HTTP interface of subscriptions and their quotas.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Access } from "../http/Access.ts"
import { conditions, noQuery, strict, tagged } from "../http/endpoint.ts"
import { paging } from "../http/parameters.ts"
import {
  BucketNotFoundProblem,
  makingOnce,
  PreconditionFailedProblem,
  QuotaExceededProblem,
  SubscriptionExternalIdTakenProblem,
  SubscriptionNotActiveProblem,
  SubscriptionNotFoundProblem,
  UnknownMeterProblem,
  UnknownPlanProblem,
  withBody
} from "../http/problems.ts"
import { Consumption, Quotas } from "../metering/Quota.ts"
import { Page } from "../shared/Page.ts"
import { Subscription, SubscriptionCreate, SubscriptionStatus, SubscriptionUpdate } from "./Subscription.ts"

const bucket = { bucketId: Schema.String }
const item = { ...bucket, subscriptionId: Schema.String }

export class SubscriptionsApi extends HttpApiGroup.make("subscriptions")
  .add(
    HttpApiEndpoint.get("list", "/metering/:bucketId/subscriptions", {
      params: bucket,
      query: {
        ...paging,
        customerKey: Schema.optionalKey(Schema.String),
        subscriptionExternalId: Schema.optionalKey(Schema.String),
        customerExternalId: Schema.optionalKey(Schema.String),
        status: Schema.optionalKey(SubscriptionStatus)
      },
      success: Page(Subscription),
      error: [BucketNotFoundProblem]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "List subscriptions"),
    HttpApiEndpoint.post("create", "/metering/:bucketId/subscriptions", {
      params: bucket,
      payload: SubscriptionCreate,
      success: tagged(Subscription),
      error: [BucketNotFoundProblem, UnknownPlanProblem, SubscriptionExternalIdTakenProblem, ...makingOnce, ...withBody]
    }).annotate(OpenApi.Summary, "Create a subscription"),
    HttpApiEndpoint.get("get", "/metering/:bucketId/subscriptions/:subscriptionId", {
      params: item,
      success: tagged(Subscription),
      error: [BucketNotFoundProblem, SubscriptionNotFoundProblem]
    }).annotate(OpenApi.Summary, "Read a subscription"),
    HttpApiEndpoint.patch("update", "/metering/:bucketId/subscriptions/:subscriptionId", {
      params: item,
      query: noQuery,
      headers: conditions,
      payload: SubscriptionUpdate,
      success: tagged(Subscription),
      error: [
        BucketNotFoundProblem,
        SubscriptionNotFoundProblem,
        UnknownPlanProblem,
        PreconditionFailedProblem,
        ...withBody
      ]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "Change a subscription"),
    HttpApiEndpoint.delete("remove", "/metering/:bucketId/subscriptions/:subscriptionId", {
      params: item,
      query: noQuery,
      headers: conditions,
      success: HttpApiSchema.NoContent,
      error: [BucketNotFoundProblem, SubscriptionNotFoundProblem, PreconditionFailedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "Remove a subscription"),
    HttpApiEndpoint.get("quotas", "/metering/:bucketId/subscriptions/:subscriptionId/quotas", {
      params: item,
      success: Quotas,
      error: [BucketNotFoundProblem, SubscriptionNotFoundProblem]
    }).annotate(OpenApi.Summary, "What a subscription has, and has used, in its period"),
    HttpApiEndpoint.post("consume", "/metering/:bucketId/subscriptions/:subscriptionId/quotas/consume", {
      params: item,
      payload: Consumption,
      success: Quotas,
      error: [
        BucketNotFoundProblem,
        SubscriptionNotFoundProblem,
        SubscriptionNotActiveProblem,
        UnknownMeterProblem,
        QuotaExceededProblem,
        ...makingOnce,
        ...withBody
      ]
    }).annotate(OpenApi.Summary, "Use several meters, all or none")
  )
  .prefix("/v1")
  .middleware(Access)
  .annotate(HttpApi.PayloadParseOptions, strict)
  .annotateMerge(OpenApi.annotations({ title: "Subscriptions" })) {}
