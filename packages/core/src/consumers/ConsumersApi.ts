/**
 * Declares the HTTP endpoints of consumers, including rolling their keys. `http/handlers/ConsumersHttp.ts` implements
 * them.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import { ifMatchHeader, withETagHeader } from "../api/etag.ts"
import { rejectUnknown } from "../api/parseOptions.ts"
import {
  bodyProblems,
  ConsumerNameTakenProblem,
  ConsumerNotFoundProblem,
  idempotencyProblems,
  KeyLimitReachedProblem,
  KeyNotRetainedProblem,
  KeyValueTakenProblem,
  LimitReachedProblem,
  PreconditionFailedProblem
} from "../api/problems.ts"
import { pagination, withTagFilter } from "../api/query.ts"
import { ApiKey, KeyVisibility } from "../records/ApiKey.ts"
import { Consumer, ConsumerCreate, ConsumerUpdate } from "../records/Consumer.ts"
import { KeyBucket } from "../records/KeyBucket.ts"
import { Email } from "../records/Manager.ts"
import { Page } from "../schema/Page.ts"
import { Timestamp } from "../schema/Timestamp.ts"

const bucketParams = KeyBucket.fields
const consumerParams = { ...bucketParams, consumerName: Schema.String }

const includeParameters = {
  "include-api-keys": Schema.optionalKey(Schema.Boolean),
  "include-managers": Schema.optionalKey(Schema.Boolean),
  "include-manager-invites": Schema.optionalKey(Schema.Boolean),
  "key-format": Schema.optionalKey(KeyVisibility)
}

export class ConsumersApi extends HttpApiGroup.make("consumers")
  .add(
    HttpApiEndpoint.get("list", "/consumers", {
      params: bucketParams,
      query: withTagFilter({ ...pagination, ...includeParameters, "manager-email": Schema.optionalKey(Email) }),
      success: Page(Consumer),
      error: [KeyNotRetainedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "List consumers"),
    HttpApiEndpoint.post("create", "/consumers", {
      params: bucketParams,
      query: { "with-api-key": Schema.optionalKey(Schema.Boolean) },
      payload: ConsumerCreate,
      success: withETagHeader(Consumer),
      error: [
        ConsumerNameTakenProblem,
        KeyValueTakenProblem,
        LimitReachedProblem,
        ...idempotencyProblems,
        ...bodyProblems
      ]
    }).annotate(OpenApi.Summary, "Create a consumer, optionally with API keys"),
    HttpApiEndpoint.get("get", "/consumers/:consumerName", {
      params: consumerParams,
      query: withTagFilter(includeParameters),
      success: withETagHeader(Consumer),
      error: [ConsumerNotFoundProblem, KeyNotRetainedProblem]
    }).annotate(OpenApi.Summary, "Get a consumer"),
    HttpApiEndpoint.patch("update", "/consumers/:consumerName", {
      params: consumerParams,
      query: withTagFilter({}),
      headers: ifMatchHeader,
      payload: ConsumerUpdate,
      success: withETagHeader(Consumer),
      error: [ConsumerNotFoundProblem, PreconditionFailedProblem, ...bodyProblems]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Update a consumer"),
    HttpApiEndpoint.delete("remove", "/consumers/:consumerName", {
      params: consumerParams,
      query: withTagFilter({}),
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [ConsumerNotFoundProblem, PreconditionFailedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Delete a consumer with its keys, managers and invites"),
    HttpApiEndpoint.post("rollKey", "/consumers/:consumerName/roll-key", {
      params: consumerParams,
      query: withTagFilter({}),
      payload: Schema.Struct({ expiresOn: Timestamp }),
      // With `keyStorage: "hash-only"`, this response is the only chance to see the new key value.
      success: [
        HttpApiSchema.WithHeaders(HttpApiSchema.NoContent, { location: Schema.String }),
        HttpApiSchema.WithHeaders(ApiKey, { location: Schema.String })
      ],
      error: [ConsumerNotFoundProblem, KeyLimitReachedProblem, ...idempotencyProblems, ...bodyProblems]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Roll a consumer's keys")
      .annotate(OpenApi.Description, "Sets `expiresOn` on every key that has no expiry, and creates a new key.")
  )
  .prefix("/v1/accounts/:accountName/key-buckets/:bucketName")
  .middleware(Authenticated)
  .annotate(HttpApi.PayloadParseOptions, rejectUnknown)
  .annotateMerge(
    OpenApi.annotations({ title: "Consumers", description: "Named groups of API keys in a key bucket." })
  ) {}
