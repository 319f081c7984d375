/**
 * Declares the operations on consumers, including rolling their keys. `Consumers.ts` implements them.
 */

import { Cursor, cursorPattern, Page, SearchText, Timestamp, VersionMismatch } from "@tollgate/store/internal"
import { Predicate, Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { LimitReached } from "../accounts/limits/LimitReached.ts"
import type { AnyRequest } from "../api/AnyRequest.ts"
import { Authenticated } from "../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../api/checkMethods.ts"
import { bodyErrors, idempotencyErrors } from "../api/errors.ts"
import { idempotencyKeyHeader, ifMatchHeader } from "../api/headers.ts"
import type {
  CallOptions,
  ConditionalCallOptions,
  FoundPromise,
  IdempotentCallOptions,
  Input,
  PageOptions,
  PagePromise,
  TagCondition,
  Versioned
} from "../api/Methods.ts"
import { Area, FurtherPermissions, NarrowPermissions, Owner, Permission } from "../api/Owner.ts"
import { flag, optional, parameters } from "../api/parameters.ts"
import { givenOffset, ifTags, page, tags } from "../api/query.ts"
import { ignoreUnknown } from "../api/unknownFields.ts"
import { withVersion } from "../api/withVersion.ts"
import { KeyLimitReached, KeyNotActive, KeyNotFound, KeyNotRetained, KeyValueTaken } from "../keys/KeyError.ts"
import { keyFormat } from "../keys/KeysApi.ts"
import { newSubscriptionErrors } from "../metering/model/newSubscriptionErrors.ts"
import { ApiKey, type ApiKeyJson, type KeyVisibility } from "../records/ApiKey.ts"
import { Consumer, type ConsumerJson, ConsumerName, ConsumerUpdate } from "../records/Consumer.ts"
import { ConsumerNameTaken, ConsumerNotFound } from "../records/ConsumerError.ts"
import { KeyBucket } from "../records/KeyBucket.ts"
import { createPermissions, isAboutDisabled, keyPermissions, rollPermissions } from "../records/keyPermissions.ts"
import { Email, maxEmailLength } from "../records/Manager.ts"
import { Scopes } from "../records/Scope.ts"
import { ConsumerCreate, CreatedConsumer, type CreatedConsumerJson } from "./ConsumerCreate.ts"

const bucketParams = KeyBucket.fields
const consumerParams = { ...bucketParams, consumerName: Schema.String }

const managerEmail = optional(Email, {
  name: "manager-email",
  description: "Return only consumers with a manager or an invite for this email address (case-insensitive).",
  openApiSchema: { type: "string", format: "email", maxLength: maxEmailLength }
})

const name = optional(ConsumerName, { description: "Return only the consumer with this name." })

const search = optional(SearchText, {
  description:
    "Return the consumers that a text of 2 to 32 characters finds by its beginning, without regard to case: names and " +
    "their parts between hyphens, ids, customer keys, e-mail addresses of managers, values of tags, and the first 20 words of " +
    "descriptions; and those whose key has this id, or these last 4 characters. At most 100, without `total`. Cannot " +
    "be combined with a filter, `sort`, `offset` or `after`.",
  openApiSchema: { type: "string", minLength: 2, maxLength: 32 }
})

const sort = optional(Schema.Literals(["name", "-createdOn"]), {
  description:
    "The order of the consumers: by `name`, or by `-createdOn`, the newest first. Default: the oldest first. With `name`, " +
    "filters and `offset` are not possible; use `after`.",
  openApiSchema: { type: "string", enum: ["name", "-createdOn"] }
})

/** A place in the order of creation, or a name after a tilde, which no number begins with. */
const ConsumerCursor = Schema.Union([
  Cursor,
  Schema.String.pipe(
    Schema.check(Schema.isPattern(/^~[a-z0-9-]{1,128}$/u, { expected: "the next of an earlier page" }))
  )
])

const consumerPage = {
  limit: page.limit,
  offset: givenOffset,
  after: {
    ...page.after,
    openApiSchema: { type: "string", pattern: `${cursorPattern.source}|^~[a-z0-9-]{1,128}$` },
    json: Schema.optionalKey(ConsumerCursor),
    wire: Schema.optionalKey(ConsumerCursor)
  }
}

/** A page of consumers. What a search has found is not counted. */
const ConsumerPage = Schema.Struct({
  ...Page(Consumer).fields,
  total: Schema.optionalKey(Page(Consumer).fields.total)
})

const withApiKey = flag("with-api-key", "Create an API key with the consumer, unless the body contains `apiKeys`.")

/** Whether a request creates a subscription too. */
const hasSubscription = ({ payload }: AnyRequest): boolean => Predicate.hasProperty(payload, "subscription")

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

/** Clients that know no such parameter get a `Location`. */
const newKeyFormat = optional(Schema.Literal("visible"), {
  name: "key-format",
  description: "Return the new key with its value, with status 200.",
  openApiSchema: { type: "string", enum: ["visible"] }
})

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
      query: parameters({ ...consumerPage, ...include, ...tags, managerEmail, name, search, sort }),
      success: ConsumerPage,
      error: [KeyNotRetained]
    })
      .annotate(OpenApi.Summary, "List consumers")
      .annotate(
        OpenApi.Description,
        "Returns the consumers that match all given filters, oldest first, or those that `search` finds: first those of which " +
          "something is the text, then those of which something begins with it, the newest first. Keys, managers and manager " +
          "invites are left out unless you include them. An unknown parameter gets 400, so that a mistyped " +
          "filter does not return everything."
      ),
    HttpApiEndpoint.post("create", "/consumers", {
      params: bucketParams,
      query: parameters({ withApiKey, ...createInclude }),
      headers: idempotencyKeyHeader,
      payload: ConsumerCreate,
      success: withVersion(CreatedConsumer),
      error: [ConsumerNameTaken, KeyValueTaken, ...newSubscriptionErrors, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(HttpApi.QueryParseOptions, ignoreUnknown)
      .annotate(FurtherPermissions, { ...createPermissions, "metering:write": hasSubscription })
      .annotate(OpenApi.Summary, "Create a consumer, optionally with API keys")
      .annotate(
        OpenApi.Description,
        "Creates the consumer, its API keys and its managers in one commit, or nothing. `managers` are " +
          "e-mail addresses, which become invites, or objects with a `sub`; one that is named twice counts once. " +
          "The response contains the new keys with their values, unless `key-format` says otherwise. A name or a " +
          "key value that is taken in the key bucket gets 409; the name cannot change later. With `subscription`, " +
          "the consumer is created together with a subscription of its `customerKey`, in a metering bucket of the account: both, or " +
          "neither, also if the process dies. What a call that died has left is removed after a minute. Only `meteringBucket`, its " +
          "id or name, and `planExternalIds` are required; unknown plans get 422."
      ),
    HttpApiEndpoint.get("get", "/consumers/:consumerName", {
      params: consumerParams,
      query: parameters({ ...include, ...ifTags }),
      success: withVersion(Consumer),
      error: [ConsumerNotFound, KeyNotRetained]
    })
      .annotate(HttpApi.QueryParseOptions, ignoreUnknown)
      .annotate(OpenApi.Summary, "Get a consumer")
      .annotate(
        OpenApi.Description,
        "Keys, managers and manager invites are left out unless you include them. Key values are masked by " +
          "default: `key-format=visible` requires the permission `keys:reveal`. Keys whose value is not stored come without " +
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
      .annotate(NarrowPermissions, { "consumers:disable": isAboutDisabled })
      .annotate(OpenApi.Summary, "Update a consumer")
      .annotate(
        OpenApi.Description,
        "Fields that are not in the body stay unchanged. `tags` and `metadata` replace the previous object, `managers` " +
          "the previous managers and invites: who has the same `sub` or e-mail address keeps `id` and `createdOn`, " +
          "and `null` clears the other fields. All keys of a consumer with `disabled: true` fail every check " +
          "until it is enabled again. A `name` other than the consumer's gets 400, because a consumer " +
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
      .annotate(OpenApi.Summary, "Delete a consumer with its keys, managers and invites")
      .annotate(
        OpenApi.Description,
        "Deletes everything in one commit. The keys stop working. Subscriptions of the consumer stay in " +
          "their metering buckets. With `If-Match`, a consumer that has changed since gets 412."
      ),
    HttpApiEndpoint.post("rollKey", "/consumers/:consumerName/roll-key", {
      params: consumerParams,
      query: parameters({ ...ifTags, keyFormat: newKeyFormat }),
      headers: idempotencyKeyHeader,
      payload: Schema.Struct({
        expiresOn: Timestamp,
        scopes: Schema.optionalKey(Scopes),
        /** The key to replace. Default: all that have no expiry. */
        keyId: Schema.optionalKey(Schema.String)
      }),
      // With `keyStorage: "hash-only"`, and without `keys:reveal`, this response is the only chance to see the new value.
      success: [
        HttpApiSchema.WithHeaders(ApiKey, { location: Schema.String }),
        HttpApiSchema.WithHeaders(HttpApiSchema.NoContent, { location: Schema.String })
      ],
      error: [
        ConsumerNotFound,
        KeyNotFound,
        KeyNotActive,
        KeyLimitReached,
        LimitReached,
        ...idempotencyErrors,
        ...bodyErrors
      ]
    })
      .annotate(Permission, "keys:roll")
      .annotate(FurtherPermissions, rollPermissions)
      .annotate(OpenApi.Summary, "Roll a consumer's keys")
      .annotate(
        OpenApi.Description,
        "Sets `expiresOn` on every key that has no expiry, and creates a new key, in one commit. The new key " +
          "has the given `scopes`, or those of the newest key that had no expiry and is not disabled, and its `ipAllow`. With " +
          "`keyId`, only that key gets `expiresOn`, unless it ends earlier, and the new key has its description, scopes, " +
          "`ipAllow` and former expiry. The " +
          "response is 204 with the `Location` of the new key. With `key-format=visible`, or if Tollgate stores only hashes of " +
          "keys, it is 200 with the key and its value, for which `keys:reveal` is not needed."
      )
  )
  .prefix("/v1/accounts/:accountName/key-buckets/:bucketName")
  .middleware(Authenticated)
  .annotate(Area, "consumers")
  .annotate(FurtherPermissions, keyPermissions)
  .annotate(Owner, "account")
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
export type ConsumerWithKeysJson = CreatedConsumerJson & {
  readonly apiKeys: readonly [ApiKeyJson, ...Array<ApiKeyJson>]
}

type ConsumerListOptions = PageOptions &
  ConsumerIncludeOptions & {
    /** Only consumers that have all these tags. */
    readonly tags?: Readonly<Record<string, string>> | undefined
    /** Only consumers with a manager or an invite for this e-mail address. */
    readonly managerEmail?: string | undefined
    /** Only the consumer with this name. */
    readonly name?: string | undefined
    /** The order: by name, or the newest first. Default: the oldest first. */
    readonly sort?: "name" | "-createdOn" | undefined
  }

/** The consumers of a key bucket. */
export interface ConsumersMethods {
  /** Returns a page of the consumers that match the filter, oldest first. Iterate over it to get all pages. */
  list(options?: ConsumerListOptions & { readonly search?: undefined }): PagePromise<ConsumerJson>
  /**
   * Returns the consumers that a text finds, at most 100, the best first.
   *
   * @example
   * ```ts
   * const { data } = await production.consumers.list({ search: "acme" })
   * ```
   */
  list(
    options?: ConsumerListOptions & {
      /**
       * The beginning of a name, of a part of it between hyphens, of an id, an e-mail address of a manager, a value of a
       * tag, or one of the first 20 words of a description; or the id or the last 4 characters of a key. 2 to 32 characters.
       */
      readonly search?: string | undefined
    }
  ): FoundPromise<ConsumerJson>
  /**
   * Creates a consumer with an API key. The result contains the key with its value. With `subscription`, it creates a
   * subscription of the consumer too: both, or neither.
   *
   * @example
   * ```ts
   * const subscription = { meteringBucket: "billing", planExternalIds: ["free"] }
   * const alice = await production.consumers.create({ name: "alice", subscription }, { withApiKey: true })
   * ```
   */
  create(
    input: Input<typeof ConsumerCreate>,
    options: IdempotentCallOptions & ConsumerCreateOptions & { readonly withApiKey: true }
  ): Promise<Versioned<ConsumerWithKeysJson>>
  /** Creates a consumer. The result contains the keys that were created with it, with their values. */
  create(
    input: Input<typeof ConsumerCreate>,
    options?: IdempotentCallOptions & ConsumerCreateOptions & { readonly withApiKey?: boolean | undefined }
  ): Promise<Versioned<CreatedConsumerJson>>
  /** Returns a consumer. */
  get(name: string, options?: CallOptions & ConsumerIncludeOptions & TagCondition): Promise<Versioned<ConsumerJson>>
  /** Updates the fields in `patch`. `null` clears a field. `disabled: true` makes all keys fail every check. */
  update(
    name: string,
    patch: Input<typeof ConsumerUpdate>,
    options?: ConditionalCallOptions & ConsumerIncludeOptions & TagCondition
  ): Promise<Versioned<ConsumerJson>>
  /** Deletes a consumer with its keys, managers and invites. Options of what to include are accepted and ignored. */
  remove(name: string, options?: ConditionalCallOptions & ConsumerIncludeOptions & TagCondition): Promise<void>
  /**
   * Sets `expiresOn` on every key that has no expiry and creates a new key, in one commit. Returns the new key. It has the
   * given `scopes`, or those of the newest key that had no expiry and is not disabled, and its `ipAllow`. With `keyId`, only
   * that key is replaced.
   */
  rollKey(
    name: string,
    input: {
      readonly expiresOn: string | Date
      readonly scopes?: ReadonlyArray<string> | undefined
      readonly keyId?: string | undefined
    },
    options?: IdempotentCallOptions & TagCondition & { readonly keyFormat?: "visible" | undefined }
  ): Promise<ApiKeyJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof ConsumersApi, ConsumersMethods>>
