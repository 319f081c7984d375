/**
 * Declares the operations on consumers, including rolling their keys. `Consumers.ts` implements them.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { LimitReached } from "../accounts/limits/LimitReached.ts"
import { Authenticated } from "../api/Authenticated.ts"
import { bodyErrors, idempotencyErrors } from "../api/errors.ts"
import { idempotencyKeyHeader, ifMatchHeader } from "../api/headers.ts"
import type {
  CallOptions,
  ConditionalCallOptions,
  IdempotentCallOptions,
  Input,
  PageOptions,
  PagePromise,
  TagCondition,
  Versioned
} from "../api/Methods.ts"
import { Owner } from "../api/Owner.ts"
import { flag, optional, parameters } from "../api/parameters.ts"
import { ifTags, page, tags } from "../api/query.ts"
import { rejectUnknown } from "../api/rejectUnknown.ts"
import { withVersion } from "../api/withVersion.ts"
import { KeyLimitReached, KeyNotRetained, KeyValueTaken } from "../keys/KeyError.ts"
import { keyFormat } from "../keys/KeysApi.ts"
import { ApiKey, type ApiKeyJson, type KeyVisibility } from "../records/ApiKey.ts"
import { Consumer, ConsumerCreate, type ConsumerJson, ConsumerName, ConsumerUpdate } from "../records/Consumer.ts"
import { ConsumerNameTaken, ConsumerNotFound } from "../records/ConsumerError.ts"
import { KeyBucket } from "../records/KeyBucket.ts"
import { Email, maxEmailLength } from "../records/Manager.ts"
import { Scopes } from "../records/Scope.ts"
import { Page } from "../schema/Page.ts"
import { Timestamp } from "../schema/Timestamp.ts"
import { VersionMismatch } from "../schema/VersionMismatch.ts"

const bucketParams = KeyBucket.fields
const consumerParams = { ...bucketParams, consumerName: Schema.String }

const managerEmail = optional(Email, {
  name: "manager-email",
  description: "Return only consumers with a manager or an invite for this email address (case-insensitive).",
  openApiSchema: { type: "string", format: "email", maxLength: maxEmailLength }
})

const name = optional(ConsumerName, { description: "Return only the consumer with this name." })

const withApiKey = flag("with-api-key", "Create an API key with the consumer, unless the body contains `apiKeys`.")

/** Optional parts of a returned consumer. */
const include = {
  apiKeys: flag(
    "include-api-keys",
    "Include the API keys: the first 1,000 of a single consumer; in a list, the first 100 of each consumer, up to 1,000 in total. " +
      "Consumers beyond that total have no `apiKeys`."
  ),
  managers: flag("include-managers", "Include the managers."),
  managerInvites: flag("include-manager-invites", "Include the manager invites."),
  keyFormat
}

/** The response to a create is the only one that shows key values by default. */
const createInclude = {
  ...include,
  keyFormat: {
    ...keyFormat,
    description: "How to return the values of the new keys: not at all, in plain text, or masked.",
    openApiSchema: { ...keyFormat.openApiSchema, default: "visible" }
  }
}

const ignored = { description: "Accepted and ignored: the response has no body." }

/** Clients may send the same parameters to all endpoints of consumers, also where the response has no body. */
const ignoredInclude = {
  apiKeys: { ...include.apiKeys, ...ignored },
  managers: { ...include.managers, ...ignored },
  managerInvites: { ...include.managerInvites, ...ignored },
  keyFormat: { ...keyFormat, ...ignored }
}

export class ConsumersApi extends HttpApiGroup.make("consumers")
  .add(
    HttpApiEndpoint.get("list", "/consumers", {
      params: bucketParams,
      query: parameters({ ...page, ...include, ...tags, managerEmail, name }),
      success: Page(Consumer),
      error: [KeyNotRetained]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "List consumers")
      .annotate(
        OpenApi.Description,
        "Returns the consumers that match all given filters, oldest first. Keys, managers and manager " +
          "invites are left out unless you include them. An unknown parameter gets 400, so that a mistyped " +
          "filter does not return everything."
      ),
    HttpApiEndpoint.post("create", "/consumers", {
      params: bucketParams,
      query: parameters({ withApiKey, ...createInclude }),
      headers: idempotencyKeyHeader,
      payload: ConsumerCreate,
      success: withVersion(Consumer),
      error: [ConsumerNameTaken, KeyValueTaken, LimitReached, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Create a consumer, optionally with API keys")
      .annotate(
        OpenApi.Description,
        "Creates the consumer, its API keys and its managers in one commit, or nothing. `managers` are " +
          "e-mail addresses, which become invites, or objects with a `sub`; one that is named twice counts once. " +
          "The response contains the new keys with their values, unless `key-format` says otherwise. A name or a " +
          "key value that is taken in the key bucket gets 409; the name cannot change later."
      ),
    HttpApiEndpoint.get("get", "/consumers/:consumerName", {
      params: consumerParams,
      query: parameters({ ...include, ...ifTags }),
      success: withVersion(Consumer),
      error: [ConsumerNotFound, KeyNotRetained]
    })
      .annotate(OpenApi.Summary, "Get a consumer")
      .annotate(
        OpenApi.Description,
        "Keys, managers and manager invites are left out unless you include them. Key values are masked by " +
          "default: `key-format=visible` requires write access. Keys whose value is not stored come without " +
          "`key`; if Tollgate stores only hashes of keys, the request gets 409."
      ),
    HttpApiEndpoint.patch("update", "/consumers/:consumerName", {
      params: consumerParams,
      query: parameters({ ...include, ...ifTags }),
      headers: ifMatchHeader,
      payload: ConsumerUpdate,
      success: withVersion(Consumer),
      error: [ConsumerNotFound, KeyNotRetained, LimitReached, VersionMismatch, ...bodyErrors]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Update a consumer")
      .annotate(
        OpenApi.Description,
        "Fields that are not in the body stay unchanged. `tags` and `metadata` replace the previous object, " +
          "and `null` clears the description. A `name` other than the consumer's gets 400, because a consumer " +
          "cannot be renamed. With `If-Match`, a consumer that has changed since gets 412. Keys, managers and " +
          "manager invites are left out unless you include them."
      ),
    HttpApiEndpoint.delete("remove", "/consumers/:consumerName", {
      params: consumerParams,
      query: parameters({ ...ignoredInclude, ...ifTags }),
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [ConsumerNotFound, VersionMismatch]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Delete a consumer with its keys, managers and invites")
      .annotate(
        OpenApi.Description,
        "Deletes everything in one commit. The keys stop working. Subscriptions of the consumer stay in " +
          "their metering buckets. With `If-Match`, a consumer that has changed since gets 412."
      ),
    HttpApiEndpoint.post("rollKey", "/consumers/:consumerName/roll-key", {
      params: consumerParams,
      query: parameters(ifTags),
      headers: idempotencyKeyHeader,
      payload: Schema.Struct({ expiresOn: Timestamp, scopes: Schema.optionalKey(Scopes) }),
      // With `keyStorage: "hash-only"`, this response is the only chance to see the new key value.
      success: [
        HttpApiSchema.WithHeaders(HttpApiSchema.NoContent, { location: Schema.String }),
        HttpApiSchema.WithHeaders(ApiKey, { location: Schema.String })
      ],
      error: [ConsumerNotFound, KeyLimitReached, LimitReached, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Roll a consumer's keys")
      .annotate(
        OpenApi.Description,
        "Sets `expiresOn` on every key that has no expiry, and creates a new key, in one commit. The new key " +
          "has the given `scopes`, or those of the newest key that had no expiry and is not disabled. The " +
          "response is 204 with the `Location` of the new key. If Tollgate stores only hashes of keys, it is " +
          "200 with the key, because its value cannot be read later."
      )
  )
  .prefix("/v1/accounts/:accountName/key-buckets/:bucketName")
  .middleware(Authenticated)
  .annotate(Owner, "account")
  .annotate(HttpApi.PayloadParseOptions, rejectUnknown)
  .annotateMerge(
    OpenApi.annotations({ title: "Consumers", description: "Named groups of API keys in a key bucket." })
  ) {}

type ConsumerIncludeOptions = {
  /** Include the API keys. */
  readonly apiKeys?: boolean | undefined
  readonly managers?: boolean | undefined
  readonly managerInvites?: boolean | undefined
  /** How to return key values. Default: `masked`. */
  readonly keyFormat?: typeof KeyVisibility.Type | undefined
}

type ConsumerCreateOptions = Omit<ConsumerIncludeOptions, "keyFormat"> & {
  /** How to return the values of the new keys. Default: `visible`. */
  readonly keyFormat?: typeof KeyVisibility.Type | undefined
}

/** A consumer that was created together with API keys. */
export type ConsumerWithKeysJson = ConsumerJson & { readonly apiKeys: readonly [ApiKeyJson, ...Array<ApiKeyJson>] }

/** The consumers of a key bucket. */
export interface ConsumersMethods {
  /** Returns a page of the consumers that match the filter, oldest first. Iterate over it to get all pages. */
  list(
    options?: PageOptions &
      ConsumerIncludeOptions & {
        /** Only consumers that have all these tags. */
        readonly tags?: Readonly<Record<string, string>> | undefined
        /** Only consumers with a manager or an invite for this e-mail address. */
        readonly managerEmail?: string | undefined
        /** Only the consumer with this name. */
        readonly name?: string | undefined
      }
  ): PagePromise<ConsumerJson>
  /** Creates a consumer with an API key. The result contains the key with its value. */
  create(
    input: Input<typeof ConsumerCreate>,
    options: IdempotentCallOptions & ConsumerCreateOptions & { readonly withApiKey: true }
  ): Promise<Versioned<ConsumerWithKeysJson>>
  /** Creates a consumer. The result contains the keys that were created with it, with their values. */
  create(
    input: Input<typeof ConsumerCreate>,
    options?: IdempotentCallOptions & ConsumerCreateOptions & { readonly withApiKey?: boolean | undefined }
  ): Promise<Versioned<ConsumerJson>>
  /** Returns a consumer. */
  get(name: string, options?: CallOptions & ConsumerIncludeOptions & TagCondition): Promise<Versioned<ConsumerJson>>
  /** Updates the fields in `patch`. `null` clears the description. */
  update(
    name: string,
    patch: Input<typeof ConsumerUpdate>,
    options?: ConditionalCallOptions & ConsumerIncludeOptions & TagCondition
  ): Promise<Versioned<ConsumerJson>>
  /** Deletes a consumer with its keys, managers and invites. Options of what to include are accepted and ignored. */
  remove(name: string, options?: ConditionalCallOptions & ConsumerIncludeOptions & TagCondition): Promise<void>
  /**
   * Sets `expiresOn` on every key that has no expiry and creates a new key, in one commit. Returns the new key. It has the
   * given `scopes`, or those of the newest key that had no expiry and is not disabled.
   */
  rollKey(
    name: string,
    input: { readonly expiresOn: string | Date; readonly scopes?: ReadonlyArray<string> | undefined },
    options?: IdempotentCallOptions & TagCondition
  ): Promise<ApiKeyJson>
}
