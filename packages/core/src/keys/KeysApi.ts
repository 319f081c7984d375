/**
 * Declares the operations on API keys, including verification. `ApiKeys.ts` implements them.
 */

import { Page, VersionMismatch } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { LimitReached } from "../accounts/limits/LimitReached.ts"
import { Authenticated } from "../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../api/checkMethods.ts"
import { bodyErrors, idempotencyErrors } from "../api/errors.ts"
import { idempotencyKeyHeader, ifMatchHeader } from "../api/headers.ts"
import type {
  CallOptions,
  ConditionalCallOptions,
  IdempotentCallOptions,
  Input,
  PageJson,
  PageOptions,
  PagePromise,
  TagCondition,
  Versioned
} from "../api/Methods.ts"
import {
  Area,
  BodyLimit,
  FurtherPermissions,
  IsReadOnly,
  NarrowPermissions,
  OptionalPermissions,
  Owner,
  Permission,
  shortBody
} from "../api/Owner.ts"
import { optional, parameters } from "../api/parameters.ts"
import { ifTags, page } from "../api/query.ts"
import { ignoreUnknown } from "../api/unknownFields.ts"
import { withVersion } from "../api/withVersion.ts"
import {
  ApiKey,
  ApiKeyCreate,
  ApiKeyImport,
  type ApiKeyJson,
  ApiKeyUpdate,
  KeyVisibility,
  maxKeysPerRequest
} from "../records/ApiKey.ts"
import { ConsumerNotFound } from "../records/ConsumerError.ts"
import { KeyBucket } from "../records/KeyBucket.ts"
import { isAboutDisabled, keyPermissions } from "../records/keyPermissions.ts"
import { KeyLimitReached, KeyNotFound, KeyNotRetained, KeyValueTaken } from "./KeyError.ts"
import { Verification } from "./Verification.ts"

const bucketParams = KeyBucket.fields
const consumerParams = { ...bucketParams, consumerName: Schema.String }
const keyParams = { ...consumerParams, keyId: Schema.String }
export const keyFormat = optional(KeyVisibility, {
  name: "key-format",
  description: "How to return key values: not at all, in plain text, or masked.",
  openApiSchema: { type: "string", enum: KeyVisibility.literals, default: "masked" }
})

/** A single object is accepted as an array of one. */
const BulkCreate = Schema.Union([
  Schema.Array(ApiKeyCreate).pipe(Schema.check(Schema.isMinLength(1), Schema.isMaxLength(maxKeysPerRequest))),
  ApiKeyCreate
])

const Import = Schema.Struct({
  keys: Schema.Array(ApiKeyImport).pipe(Schema.check(Schema.isMinLength(1), Schema.isMaxLength(maxKeysPerRequest)))
}).annotate({ identifier: "ApiKeysImport" })

const createErrors = [
  ConsumerNotFound,
  KeyValueTaken,
  KeyLimitReached,
  LimitReached,
  ...idempotencyErrors,
  ...bodyErrors
] as const

export class KeysApi extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/consumers/:consumerName/keys", {
      params: consumerParams,
      query: parameters({ ...page, keyFormat }),
      success: Page(ApiKey),
      error: [ConsumerNotFound, KeyNotRetained]
    })
      .annotate(OpenApi.Summary, "List a consumer's keys")
      .annotate(
        OpenApi.Description,
        "Returns all keys of the consumer, also expired and disabled ones, oldest first. Values are masked " +
          "by default: `key-format=visible` requires the permission `keys:reveal`. Keys whose value is not stored come without " +
          "`key`; if Tollgate stores only hashes of keys, the request gets 409."
      ),
    HttpApiEndpoint.post("create", "/consumers/:consumerName/keys", {
      params: consumerParams,
      headers: idempotencyKeyHeader,
      payload: ApiKeyCreate,
      success: withVersion(ApiKey),
      error: createErrors
    })
      .annotate(OpenApi.Summary, "Create a key")
      .annotate(
        OpenApi.Description,
        "Generates a value unless the body contains a `key`. The response contains the value; later reads " +
          "mask it by default. Without `expiresOn` the key does not expire, and without `scopes` it has none. " +
          "With `ipAllow` it passes only from these addresses and networks, up to 50, such as `203.0.113.0/24`. " +
          "A value that is taken in the key bucket, or more than 10,000 keys of the consumer, gets 409."
      ),
    HttpApiEndpoint.post("createMany", "/consumers/:consumerName/keys/$bulk", {
      params: consumerParams,
      headers: idempotencyKeyHeader,
      payload: BulkCreate,
      success: Page(ApiKey),
      error: createErrors
    })
      .annotate(OpenApi.Summary, "Create several keys atomically")
      .annotate(
        OpenApi.Description,
        "Creates 1 to 1,000 keys in one commit, or none. The body is an array; a single object counts as an " +
          "array of one. The response contains the values of all keys. If one of the values is taken, the " +
          "request gets 409."
      ),
    HttpApiEndpoint.post("import", "/consumers/:consumerName/keys/$import", {
      params: consumerParams,
      headers: idempotencyKeyHeader,
      payload: Import,
      success: Page(ApiKey),
      error: createErrors
    })
      .annotate(OpenApi.Summary, "Import keys of another system by their hashes")
      .annotate(
        OpenApi.Description,
        "Creates 1 to 1,000 keys in one commit, or none. Clients keep their key values, which Tollgate does " +
          "not learn: it gets the SHA-256 of each value, and so cannot show it. `suffix` is the end of the " +
          "value, for masked reads. A value that is taken in the key bucket gets 409. A key whose value begins like " +
          "the keys of this server never passes: create it with its value instead."
      ),
    HttpApiEndpoint.get("get", "/consumers/:consumerName/keys/:keyId", {
      params: keyParams,
      query: parameters({ keyFormat, ...ifTags }),
      success: withVersion(ApiKey),
      error: [ConsumerNotFound, KeyNotFound, KeyNotRetained]
    })
      .annotate(HttpApi.QueryParseOptions, ignoreUnknown)
      .annotate(OpenApi.Summary, "Get a key")
      .annotate(
        OpenApi.Description,
        "The value is masked by default: `****` and its last characters. `key-format=visible` requires the permission " +
          "`keys:reveal`, and gets 409 if Tollgate does not store the value. `lastUsedOn` is precise to the minute, " +
          "and written up to 15 seconds late."
      ),
    HttpApiEndpoint.get("find", "/keys/:keyId", {
      params: { ...bucketParams, keyId: Schema.String },
      query: parameters({ keyFormat, ...ifTags }),
      success: withVersion(ApiKey),
      error: [KeyNotFound, KeyNotRetained]
    })
      .annotate(HttpApi.QueryParseOptions, ignoreUnknown)
      .annotate(OpenApi.Summary, "Get a key by its id alone")
      .annotate(
        OpenApi.Description,
        "Finds a key of any consumer of the key bucket, by the id that events and `$verify` name. The response is that of " +
          "the key below its consumer; `consumerName` says whose it is."
      ),
    HttpApiEndpoint.patch("update", "/consumers/:consumerName/keys/:keyId", {
      params: keyParams,
      query: parameters(ifTags),
      headers: ifMatchHeader,
      payload: ApiKeyUpdate,
      success: withVersion(ApiKey),
      error: [
        ConsumerNotFound,
        KeyNotFound,
        KeyValueTaken,
        KeyLimitReached,
        LimitReached,
        VersionMismatch,
        ...bodyErrors
      ]
    })
      .annotate(NarrowPermissions, { "keys:disable": isAboutDisabled })
      .annotate(OpenApi.Summary, "Update a key")
      .annotate(
        OpenApi.Description,
        "Fields that are not in the body stay unchanged, and `null` clears a field. A key with `disabled: " +
          "true` fails every check until it is enabled again. With `key`, the new value replaces the previous " +
          "one, and the response contains it; a value that is taken gets 409. With `If-Match`, a key that has " +
          "changed since gets 412."
      ),
    HttpApiEndpoint.delete("remove", "/consumers/:consumerName/keys/:keyId", {
      params: keyParams,
      query: parameters(ifTags),
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [ConsumerNotFound, KeyNotFound, VersionMismatch]
    })
      .annotate(OpenApi.Summary, "Delete a key")
      .annotate(
        OpenApi.Description,
        "The key stops working. To be able to enable it again, set `disabled` instead. With `If-Match`, a " +
          "key that has changed since gets 412."
      ),
    HttpApiEndpoint.post("verify", "/$verify", {
      params: bucketParams,
      payload: Schema.Struct({ key: Schema.String, ip: Schema.optionalKey(Schema.String) }),
      success: Verification,
      error: bodyErrors
    })
      .annotate(IsReadOnly, true)
      .annotate(Permission, "authorize")
      .annotate(OptionalPermissions, ["decisions:read"])
      .annotate(BodyLimit, shortBody)
      .annotate(OpenApi.Summary, "Verify a key")
      .annotate(
        OpenApi.Description,
        "The response is 200 for every key. Unknown, expired, disabled and malformed keys, and those of a " +
          "disabled consumer, get the same response, so that a caller cannot tell which keys exist. A credential " +
          "with read access may call it. It counts no usage. `ip` is the address of the client that sent the key. A " +
          "key with `ipAllow` that is used from another address, or without `ip`, gets the reason `ip-not-allowed`. With " +
          "the permission `decisions:read`, `refusal` says why a key is not valid, and `keyId`, `consumerName` and " +
          "`consumerId` whose it is, if it exists."
      )
  )
  .prefix("/v1/accounts/:accountName/key-buckets/:bucketName")
  .middleware(Authenticated)
  .annotate(Area, "keys")
  .annotate(FurtherPermissions, keyPermissions)
  .annotate(Owner, "account")
  .annotateMerge(
    OpenApi.annotations({ title: "Keys", description: "API keys of a consumer, and their verification." })
  ) {}

/** The API keys of the consumers of a key bucket. */
export interface KeysMethods {
  /** Returns a page of a consumer's keys, oldest first. Iterate over it to get all pages. */
  list(
    consumerName: string,
    options?: PageOptions & { readonly keyFormat?: typeof KeyVisibility.Type | undefined }
  ): PagePromise<ApiKeyJson>
  /** Creates a key. The result contains its value. */
  create(
    consumerName: string,
    input?: Input<typeof ApiKeyCreate>,
    options?: IdempotentCallOptions
  ): Promise<Versioned<ApiKeyJson>>
  /** Creates several keys atomically. */
  createMany(
    consumerName: string,
    inputs: ReadonlyArray<Input<typeof ApiKeyCreate>>,
    options?: IdempotentCallOptions
  ): Promise<PageJson<ApiKeyJson>>
  /**
   * Imports keys of another system by the SHA-256 of their values, all or none. The values keep working; Tollgate cannot
   * show them.
   */
  import(
    consumerName: string,
    input: Input<typeof Import>,
    options?: IdempotentCallOptions
  ): Promise<PageJson<ApiKeyJson>>
  /** Returns a key. Its value is masked unless `keyFormat` says otherwise. */
  get(
    consumerName: string,
    keyId: string,
    options?: CallOptions & TagCondition & { readonly keyFormat?: typeof KeyVisibility.Type | undefined }
  ): Promise<Versioned<ApiKeyJson>>
  /** Returns a key of any consumer, by its id. */
  find(
    keyId: string,
    options?: CallOptions & TagCondition & { readonly keyFormat?: typeof KeyVisibility.Type | undefined }
  ): Promise<Versioned<ApiKeyJson>>
  /** Updates the fields in `patch`. `null` clears a field. `disabled: true` makes the key fail every check. */
  update(
    consumerName: string,
    keyId: string,
    patch: Input<typeof ApiKeyUpdate>,
    options?: ConditionalCallOptions & TagCondition
  ): Promise<Versioned<ApiKeyJson>>
  /** Deletes a key. It stops working at once. */
  remove(consumerName: string, keyId: string, options?: ConditionalCallOptions & TagCondition): Promise<void>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof KeysApi, KeysMethods>>
