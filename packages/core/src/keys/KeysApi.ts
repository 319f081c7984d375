/**
 * The HTTP interface of keys, and of verifying one.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Access, ReadsOnly } from "../http/Access.ts"
import { conditions, strict, tagged } from "../http/endpoint.ts"
import { paging, withTags } from "../http/parameters.ts"
import {
  ConsumerNotFoundProblem,
  KeyLimitReachedProblem,
  KeyNotFoundProblem,
  KeyNotRetainedProblem,
  KeyValueTakenProblem,
  makingOnce,
  PreconditionFailedProblem,
  withBody
} from "../http/problems.ts"
import { KeyBucket } from "../shared/KeyBucket.ts"
import { Page } from "../shared/Page.ts"
import { ApiKey, ApiKeyCreate, ApiKeyUpdate, KeyFormatParameter, maximumBulk } from "./ApiKey.ts"
import { Verification } from "./Verification.ts"

const bucket = KeyBucket.fields
const consumer = { ...bucket, consumerName: Schema.String }
const item = { ...consumer, keyId: Schema.String }
const keyFormat = { "key-format": Schema.optionalKey(KeyFormatParameter) }

/** One item counts as a list of one. */
const Bulk = Schema.Union([
  Schema.Array(ApiKeyCreate).pipe(Schema.check(Schema.isMinLength(1), Schema.isMaxLength(maximumBulk))),
  ApiKeyCreate
])

const creating = [
  ConsumerNotFoundProblem,
  KeyValueTakenProblem,
  KeyLimitReachedProblem,
  ...makingOnce,
  ...withBody
] as const

export class KeysApi extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/consumers/:consumerName/keys", {
      params: consumer,
      query: { ...paging, ...keyFormat },
      success: Page(ApiKey),
      error: [ConsumerNotFoundProblem, KeyNotRetainedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "List a consumer's keys"),
    HttpApiEndpoint.post("create", "/consumers/:consumerName/keys", {
      params: consumer,
      payload: ApiKeyCreate,
      success: tagged(ApiKey),
      error: creating
    }).annotate(OpenApi.Summary, "Create a key"),
    HttpApiEndpoint.post("createMany", "/consumers/:consumerName/keys/$bulk", {
      params: consumer,
      payload: Bulk,
      success: Page(ApiKey),
      error: creating
    }).annotate(OpenApi.Summary, "Create several keys, all or none"),
    HttpApiEndpoint.get("get", "/consumers/:consumerName/keys/:keyId", {
      params: item,
      query: withTags(keyFormat),
      success: tagged(ApiKey),
      error: [ConsumerNotFoundProblem, KeyNotFoundProblem, KeyNotRetainedProblem]
    }).annotate(OpenApi.Summary, "Read a key"),
    HttpApiEndpoint.patch("update", "/consumers/:consumerName/keys/:keyId", {
      params: item,
      query: withTags({}),
      headers: conditions,
      payload: ApiKeyUpdate,
      success: tagged(ApiKey),
      error: [
        ConsumerNotFoundProblem,
        KeyNotFoundProblem,
        KeyValueTakenProblem,
        KeyLimitReachedProblem,
        PreconditionFailedProblem,
        ...withBody
      ]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "Change a key"),
    HttpApiEndpoint.delete("remove", "/consumers/:consumerName/keys/:keyId", {
      params: item,
      query: withTags({}),
      headers: conditions,
      success: HttpApiSchema.NoContent,
      error: [ConsumerNotFoundProblem, KeyNotFoundProblem, PreconditionFailedProblem]
    })
      .annotate(HttpApi.QueryParseOptions, strict)
      .annotate(OpenApi.Summary, "Remove a key"),
    HttpApiEndpoint.post("verify", "/$verify", {
      params: bucket,
      payload: Schema.Struct({ key: Schema.String }),
      success: Verification,
      error: withBody
    })
      .annotate(ReadsOnly, true)
      .annotate(OpenApi.Summary, "Verify a key")
  )
  .prefix("/v1/accounts/:accountName/key-buckets/:bucketName")
  .middleware(Access)
  .annotate(HttpApi.PayloadParseOptions, strict)
  .annotateMerge(OpenApi.annotations({ title: "Keys", description: "API keys of a consumer, and verifying them." })) {}
