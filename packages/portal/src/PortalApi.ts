/**
 * Declares what a customer can do in its portal. `Portal` opens an operation to the sessions of customers; callers with
 * permissions can use it for any consumer of their account.
 */
import {
  Area,
  Authenticated,
  bodyErrors,
  type CallOptions,
  type CheckMethods,
  ConsumerNotFound,
  type Expect,
  type IdempotentCallOptions,
  type Input,
  InvalidInput,
  idempotencyErrors,
  idempotencyKeyHeader,
  KeyLimitReached,
  KeyNotActive,
  KeyNotFound,
  LimitReached,
  MeteringBucketNotFound,
  noQuery,
  Owner,
  optional,
  Page,
  type PageOptions,
  type PagePromise,
  Permission,
  Portal,
  page,
  parameters,
  RateLimited,
  Timestamp,
  type WriteCallOptions
} from "@tollgate/core/module"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { PlanChangeRefused, PlanNotOffered } from "./PortalError.ts"
import { PortalKey, type PortalKeyJson, PortalKeyName, PortalKeyRoll } from "./PortalKey.ts"
import {
  PortalPlanChange,
  PortalPlanChanged,
  type PortalPlanChangedJson,
  PortalPlans,
  type PortalPlansJson
} from "./PortalPlan.ts"
import { PortalAllow } from "./PortalSession.ts"
import { consumerParams, consumerPath } from "./PortalSessionsApi.ts"
import {
  PortalQuotas,
  type PortalQuotasJson,
  PortalRefusals,
  type PortalRefusalsJson,
  PortalUsage,
  type PortalUsageJson,
  PortalUsageStep
} from "./PortalUsage.ts"

const path = `${consumerPath}/portal` as const
const keyPath = `${path}/keys/:keyId` as const
const keyParams = { ...consumerParams, keyId: Schema.String }

/** What a customer is shown first. */
export const PortalHome = Schema.Struct({
  consumerName: Schema.String,
  /** Who is signed in. */
  name: Schema.optionalKey(Schema.String),
  allow: Schema.Array(PortalAllow),
  returnUrl: Schema.optionalKey(Schema.String),
  /** When the session ends. */
  expiresOn: Schema.optionalKey(Timestamp),
  /** How many keys that have not expired there may be. */
  maxKeys: Schema.Int,
  /** Whether usage, quotas and plans are known. */
  hasUsage: Schema.Boolean,
  /** Whether the plan can be changed here, and not only by links. */
  canChangePlan: Schema.Boolean
}).annotate({ identifier: "PortalHome" })
/** What a customer is shown first, as plain JSON. */
export type PortalHomeJson = typeof PortalHome.Encoded

const unmetered = "Without a metering bucket, or without a subscription, `data` is empty."

export class PortalApi extends HttpApiGroup.make("portal")
  .add(
    HttpApiEndpoint.get("home", path, {
      params: consumerParams,
      success: PortalHome,
      error: [ConsumerNotFound]
    })
      .annotate(Portal, [])
      .annotate(OpenApi.Summary, "Get what the session of a customer allows")
      .annotate(
        OpenApi.Description,
        "Returns what the page of the portal needs to know of the session and of the host's options."
      ),
    HttpApiEndpoint.get("listKeys", `${path}/keys`, {
      params: consumerParams,
      query: parameters(page),
      success: Page(PortalKey),
      error: [ConsumerNotFound]
    })
      .annotate(Portal, ["keys:read"])
      .annotate(OpenApi.Summary, "List the keys of a customer")
      .annotate(
        OpenApi.Description,
        "Returns all keys, also expired and disabled ones, oldest first, with masked values."
      ),
    HttpApiEndpoint.post("createKey", `${path}/keys`, {
      params: consumerParams,
      headers: idempotencyKeyHeader,
      payload: PortalKeyName,
      success: PortalKey,
      error: [ConsumerNotFound, KeyLimitReached, LimitReached, RateLimited, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(Portal, ["keys:write"])
      .annotate(OpenApi.Summary, "Create a key as a customer")
      .annotate(
        OpenApi.Description,
        "The response contains the value; later reads mask it. The key gets the scopes and addresses of the newest one that is " +
          "enabled, or the scopes of the option `keyScopes`. With `maxKeys` keys that have not expired, the request gets 409."
      ),
    HttpApiEndpoint.patch("renameKey", keyPath, {
      params: keyParams,
      query: noQuery,
      payload: PortalKeyName,
      success: PortalKey,
      error: [ConsumerNotFound, KeyNotFound, LimitReached, RateLimited, ...bodyErrors]
    })
      .annotate(Portal, ["keys:write"])
      .annotate(OpenApi.Summary, "Rename a key as a customer")
      .annotate(OpenApi.Description, "The name is the `description` of the key."),
    HttpApiEndpoint.post("rollKey", `${keyPath}/roll`, {
      params: keyParams,
      headers: idempotencyKeyHeader,
      payload: PortalKeyRoll,
      success: PortalKey,
      error: [
        ConsumerNotFound,
        KeyNotFound,
        KeyNotActive,
        KeyLimitReached,
        LimitReached,
        RateLimited,
        ...idempotencyErrors,
        ...bodyErrors
      ]
    })
      .annotate(Portal, ["keys:write"])
      .annotate(OpenApi.Summary, "Roll a key as a customer")
      .annotate(
        OpenApi.Description,
        "Returns a new key with its value; it has the name, the scopes, the addresses and the expiry of the old one. The old key " +
          "ends after `expiresIn` seconds, a day by default and at most 30, and never later than before. A disabled or expired key gets 409; so does the request with twice `maxKeys` keys that have not expired."
      ),
    HttpApiEndpoint.delete("revokeKey", keyPath, {
      params: keyParams,
      query: noQuery,
      success: HttpApiSchema.NoContent,
      error: [ConsumerNotFound, KeyNotFound, RateLimited]
    })
      .annotate(Portal, ["keys:write"])
      .annotate(OpenApi.Summary, "Revoke a key as a customer")
      .annotate(OpenApi.Description, "Deletes the key. It stops working."),
    HttpApiEndpoint.get("quotas", `${path}/quotas`, {
      params: consumerParams,
      success: PortalQuotas,
      error: [ConsumerNotFound, MeteringBucketNotFound]
    })
      .annotate(Portal, ["usage:read"])
      .annotate(OpenApi.Summary, "Get the quotas, credit and overage of a customer")
      .annotate(OpenApi.Description, `Returns each meter in its present period. ${unmetered}`),
    HttpApiEndpoint.get("usage", `${path}/usage`, {
      params: consumerParams,
      query: parameters({
        step: optional(PortalUsageStep, { description: "The length of a step, in UTC. Default: `day`." }),
        from: optional(Timestamp, { description: "Where the series starts. Default: 30 days, or 12 months." }),
        to: optional(Timestamp, {
          description: "Where the series ends, exclusive. Default: the end of the present day."
        }),
        groupBy: optional(Schema.Literal("key"), {
          description: "Also return what each key of the customer used: `key`."
        })
      }),
      success: PortalUsage,
      error: [ConsumerNotFound, InvalidInput, MeteringBucketNotFound]
    })
      .annotate(Portal, ["usage:read"])
      .annotate(OpenApi.Summary, "Get the usage of a customer over time")
      .annotate(
        OpenApi.Description,
        "Returns days or calendar months in UTC, oldest first and with zeros in the gaps; more than 1,000 days get 400. Days are kept for 400 days. " +
          "With `groupBy=key`, which needs `keys:read`, each step has what each `key` used, at most 15 seconds late, and the `rest`: of the first 1,000 keys that there are now. " +
          `With \`Accept: text/csv\` the response is CSV. ${unmetered}`
      ),
    HttpApiEndpoint.get("plans", `${path}/plan`, {
      params: consumerParams,
      success: PortalPlans,
      error: [ConsumerNotFound, MeteringBucketNotFound]
    })
      .annotate(Portal, ["usage:read", "plan:change"])
      .annotate(OpenApi.Summary, "Get the plan of a customer, and those that it can choose")
      .annotate(
        OpenApi.Description,
        "The plans are those of the option `plans`; a plan that is not among them has its label as its name."
      ),
    HttpApiEndpoint.post("changePlan", `${path}/plan`, {
      params: consumerParams,
      payload: PortalPlanChange,
      success: PortalPlanChanged,
      error: [ConsumerNotFound, MeteringBucketNotFound, PlanNotOffered, PlanChangeRefused, RateLimited, ...bodyErrors]
    })
      .annotate(Portal, ["plan:change"])
      .annotate(OpenApi.Summary, "Choose a plan as a customer")
      .annotate(
        OpenApi.Description,
        "Calls `onPlanChange` of the host, which changes the plan, or answers where to pay first or why it refuses."
      ),
    HttpApiEndpoint.get("refusals", `${path}/refusals`, {
      params: consumerParams,
      success: PortalRefusals,
      error: [ConsumerNotFound]
    })
      .annotate(Portal, ["usage:read"])
      .annotate(Permission, "decisions:read")
      .annotate(OpenApi.Summary, "Get why requests of a customer were refused")
      .annotate(
        OpenApi.Description,
        "Returns the last refusals of 7 days by reason, the latest first, without addresses. Tollgate writes them up to 10 seconds late."
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "portal")
  .annotate(Owner, "account")
  .annotateMerge(OpenApi.annotations({ title: "Portal", description: "What customers see and do in their portal." })) {}

interface UsageOptions extends CallOptions {
  readonly step?: typeof PortalUsageStep.Type | undefined
  readonly from?: string | Date | undefined
  readonly to?: string | Date | undefined
  /** Also return what each key used. */
  readonly groupBy?: "key" | undefined
}

/** What customers see and do in their portal, for a consumer. */
export interface PortalMethods {
  /** Returns what the portal shows first. In process, everything is allowed. */
  home(bucketName: string, consumerName: string, options?: CallOptions): Promise<PortalHomeJson>
  /** Returns a page of the keys, oldest first, with masked values. Iterate over it to get all pages. */
  listKeys(bucketName: string, consumerName: string, options?: PageOptions): PagePromise<PortalKeyJson>
  /** Creates a key. The result contains its value. */
  createKey(
    bucketName: string,
    consumerName: string,
    input: Input<typeof PortalKeyName>,
    options?: IdempotentCallOptions
  ): Promise<PortalKeyJson>
  /** Gives a key another name. */
  renameKey(
    bucketName: string,
    consumerName: string,
    keyId: string,
    input: Input<typeof PortalKeyName>,
    options?: WriteCallOptions
  ): Promise<PortalKeyJson>
  /** Replaces a key. The old one ends later. The result contains the new value. */
  rollKey(
    bucketName: string,
    consumerName: string,
    keyId: string,
    input?: Input<typeof PortalKeyRoll>,
    options?: IdempotentCallOptions
  ): Promise<PortalKeyJson>
  /** Deletes a key. */
  revokeKey(bucketName: string, consumerName: string, keyId: string, options?: WriteCallOptions): Promise<void>
  /** Returns each meter in its present period. */
  quotas(bucketName: string, consumerName: string, options?: CallOptions): Promise<PortalQuotasJson>
  /** Returns what was used by day or month, and with `groupBy` by key. */
  usage(bucketName: string, consumerName: string, options?: UsageOptions): Promise<PortalUsageJson>
  /** Returns the plan, and those that can be chosen. */
  plans(bucketName: string, consumerName: string, options?: CallOptions): Promise<PortalPlansJson>
  /** Chooses a plan: calls `onPlanChange`. */
  changePlan(
    bucketName: string,
    consumerName: string,
    input: Input<typeof PortalPlanChange>,
    options?: WriteCallOptions
  ): Promise<PortalPlanChangedJson>
  /** Returns why requests were refused, by reason. */
  refusals(bucketName: string, consumerName: string, options?: CallOptions): Promise<PortalRefusalsJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof PortalApi, PortalMethods>>
