/**
 * The HTTP interface of consumers.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Access } from "../http/Access.ts"
import { conditions, strict, tagged } from "../http/endpoint.ts"
import { paging, withTags } from "../http/parameters.ts"
import {
  ConsumerNameTakenProblem,
  ConsumerNotFoundProblem,
  KeyLimitReachedProblem,
  KeyNotRetainedProblem,
  KeyValueTakenProblem,
  LimitReachedProblem,
  makingOnce,
  PreconditionFailedProblem,
  withBody
} from "../http/problems.ts"
import { ApiKey, KeyFormatParameter } from "../keys/ApiKey.ts"
import { KeyBucket } from "../shared/KeyBucket.ts"
import { Page } from "../shared/Page.ts"
import { Timestamp } from "../shared/Timestamp.ts"
import { Consumer, ConsumerCreate, ConsumerUpdate } from "./Consumer.ts"
import { Email } from "./Manager.ts"

const bucket = KeyBucket.fields
const item = { ...bucket, consumerName: Schema.String }

const view = {
  "include-api-keys": Schema.optionalKey(Schema.Boolean),
  "include-managers": Schema.optionalKey(Schema.Boolean),
  "include-manager-invites": Schema.optionalKey(Schema.Boolean),
  "key-format": Schema.optionalKey(KeyFormatParameter)
}

export class ConsumersApi extends HttpApiGroup.make("consumers")
  .add(
    HttpApiEndpoint.get("list", "/consumers", {
      params: bucket,
      query: withTags({ ...paging, ...view, "manager-email": Schema.optionalKey(Email) }),
      success: Page(Consumer),
      error: [KeyNotRetainedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "List consumers"),
    HttpApiEndpoint.post("create", "/consumers", {
      params: bucket,
      query: { "with-api-key": Schema.optionalKey(Schema.Boolean) },
      payload: ConsumerCreate,
      success: tagged(Consumer),
      error: [ConsumerNameTakenProblem, KeyValueTakenProblem, LimitReachedProblem, ...makingOnce, ...withBody]
    }).annotate(OpenApi.Summary, "Create a consumer, and keys with it"),
    HttpApiEndpoint.get("get", "/consumers/:consumerName", {
      params: item,
      query: withTags(view),
      success: tagged(Consumer),
      error: [ConsumerNotFoundProblem, KeyNotRetainedProblem]
    }).annotate(OpenApi.Summary, "Read a consumer"),
    HttpApiEndpoint.patch("update", "/consumers/:consumerName", {
      params: item,
      query: withTags({}),
      headers: conditions,
      payload: ConsumerUpdate,
      success: tagged(Consumer),
      error: [ConsumerNotFoundProblem, PreconditionFailedProblem, ...withBody]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "Change a consumer"),
    HttpApiEndpoint.delete("remove", "/consumers/:consumerName", {
      params: item,
      query: withTags({}),
      headers: conditions,
      success: HttpApiSchema.NoContent,
      error: [ConsumerNotFoundProblem, PreconditionFailedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "Remove a consumer with its keys, managers and invites"),
    HttpApiEndpoint.post("rollKey", "/consumers/:consumerName/roll-key", {
      params: item,
      query: withTags({}),
      payload: Schema.Struct({ expiresOn: Timestamp }),
      // Where key values are not kept, this answer is the only chance to see the new one.
      success: [
        HttpApiSchema.WithHeaders(HttpApiSchema.NoContent, { location: Schema.String }),
        HttpApiSchema.WithHeaders(ApiKey, { location: Schema.String })
      ],
      error: [ConsumerNotFoundProblem, KeyLimitReachedProblem, ...makingOnce, ...withBody]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "Give an expiry to keys that have none, and make a new key")
  )
  .prefix("/v1/accounts/:accountName/key-buckets/:bucketName")
  .middleware(Access)
  .annotate(HttpApi.PayloadParseOptions, strict)
  .annotateMerge(
    OpenApi.annotations({ title: "Consumers", description: "Named groups of API keys in a key bucket." })
  ) {}
