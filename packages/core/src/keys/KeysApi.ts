/**
 * Declares the HTTP endpoints of API keys, including verification. `http/handlers/KeysHttp.ts` implements them.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated, IsReadOnly } from "../api/Authenticated.ts"
import { ifMatchHeader, withETagHeader } from "../api/etag.ts"
import { rejectUnknown } from "../api/parseOptions.ts"
import {
  bodyProblems,
  ConsumerNotFoundProblem,
  idempotencyProblems,
  KeyLimitReachedProblem,
  KeyNotFoundProblem,
  KeyNotRetainedProblem,
  KeyValueTakenProblem,
  PreconditionFailedProblem
} from "../api/problems.ts"
import { pagination, withTagFilter } from "../api/query.ts"
import { ApiKey, ApiKeyCreate, ApiKeyUpdate, KeyVisibility, maxKeysPerRequest } from "../records/ApiKey.ts"
import { KeyBucket } from "../records/KeyBucket.ts"
import { Page } from "../schema/Page.ts"
import { Verification } from "./Verification.ts"

const bucketParams = KeyBucket.fields
const consumerParams = { ...bucketParams, consumerName: Schema.String }
const keyParams = { ...consumerParams, keyId: Schema.String }
const keyFormat = { "key-format": Schema.optionalKey(KeyVisibility) }

/** A single object is accepted as an array of one. */
const BulkCreate = Schema.Union([
  Schema.Array(ApiKeyCreate).pipe(Schema.check(Schema.isMinLength(1), Schema.isMaxLength(maxKeysPerRequest))),
  ApiKeyCreate
])

const createProblems = [
  ConsumerNotFoundProblem,
  KeyValueTakenProblem,
  KeyLimitReachedProblem,
  ...idempotencyProblems,
  ...bodyProblems
] as const

export class KeysApi extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/consumers/:consumerName/keys", {
      params: consumerParams,
      query: { ...pagination, ...keyFormat },
      success: Page(ApiKey),
      error: [ConsumerNotFoundProblem, KeyNotRetainedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "List a consumer's keys"),
    HttpApiEndpoint.post("create", "/consumers/:consumerName/keys", {
      params: consumerParams,
      payload: ApiKeyCreate,
      success: withETagHeader(ApiKey),
      error: createProblems
    }).annotate(OpenApi.Summary, "Create a key"),
    HttpApiEndpoint.post("createMany", "/consumers/:consumerName/keys/$bulk", {
      params: consumerParams,
      payload: BulkCreate,
      success: Page(ApiKey),
      error: createProblems
    }).annotate(OpenApi.Summary, "Create several keys atomically"),
    HttpApiEndpoint.get("get", "/consumers/:consumerName/keys/:keyId", {
      params: keyParams,
      query: withTagFilter(keyFormat),
      success: withETagHeader(ApiKey),
      error: [ConsumerNotFoundProblem, KeyNotFoundProblem, KeyNotRetainedProblem]
    }).annotate(OpenApi.Summary, "Get a key"),
    HttpApiEndpoint.patch("update", "/consumers/:consumerName/keys/:keyId", {
      params: keyParams,
      query: withTagFilter({}),
      headers: ifMatchHeader,
      payload: ApiKeyUpdate,
      success: withETagHeader(ApiKey),
      error: [
        ConsumerNotFoundProblem,
        KeyNotFoundProblem,
        KeyValueTakenProblem,
        KeyLimitReachedProblem,
        PreconditionFailedProblem,
        ...bodyProblems
      ]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Update a key"),
    HttpApiEndpoint.delete("remove", "/consumers/:consumerName/keys/:keyId", {
      params: keyParams,
      query: withTagFilter({}),
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [ConsumerNotFoundProblem, KeyNotFoundProblem, PreconditionFailedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Delete a key"),
    HttpApiEndpoint.post("verify", "/$verify", {
      params: bucketParams,
      payload: Schema.Struct({ key: Schema.String }),
      success: Verification,
      error: bodyProblems
    })
      .annotate(IsReadOnly, true)
      .annotate(OpenApi.Summary, "Verify a key")
  )
  .prefix("/v1/accounts/:accountName/key-buckets/:bucketName")
  .middleware(Authenticated)
  .annotate(HttpApi.PayloadParseOptions, rejectUnknown)
  .annotateMerge(
    OpenApi.annotations({ title: "Keys", description: "API keys of a consumer, and their verification." })
  ) {}
