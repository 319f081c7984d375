/**
 * Declares the operations on webhooks. `Webhooks.ts` implements them.
 */

import {
  AccountName,
  Area,
  Authenticated,
  bodyErrors,
  type CallOptions,
  type CheckMethods,
  type ConditionalCallOptions,
  type Expect,
  type IdempotentCallOptions,
  type Input,
  idempotencyErrors,
  idempotencyKeyHeader,
  ifMatchHeader,
  LimitReached,
  noQuery,
  Owner,
  Page,
  type PageOptions,
  type PagePromise,
  page,
  pageNewestFirst,
  parameters,
  type Versioned,
  VersionMismatch,
  withVersion
} from "@tollgate/core/module"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Delivery, type DeliveryJson } from "./Delivery.ts"
import {
  makeWebhookInputs,
  Webhook,
  type WebhookCreate,
  type WebhookJson,
  WebhookSecret,
  type WebhookUpdate,
  WebhookWithSecret,
  type WebhookWithSecretJson
} from "./Webhook.ts"
import { DeliveryNotFound, InvalidWebhookUrl, WebhookDisabled, WebhookNotFound } from "./WebhookError.ts"

const accountParams = { accountName: AccountName }
const webhookParams = { ...accountParams, webhookId: Schema.String }
const deliveryParams = { ...webhookParams, deliveryId: Schema.String }

const webhooksPath = "/accounts/:accountName/webhooks"
const webhookPath = `${webhooksPath}/:webhookId` as const

/** `eventTypes` are those of all modules. */
export const makeWebhooksApi = (eventTypes: ReadonlyArray<string>) => {
  const { WebhookCreate, WebhookUpdate } = makeWebhookInputs(eventTypes)
  return HttpApiGroup.make("webhooks")
    .add(
      HttpApiEndpoint.get("list", webhooksPath, {
        params: accountParams,
        query: parameters(page),
        success: Page(Webhook)
      })
        .annotate(OpenApi.Summary, "List webhooks")
        .annotate(OpenApi.Description, "Returns the webhooks of the account, oldest first, without their secrets."),
      HttpApiEndpoint.post("create", webhooksPath, {
        params: accountParams,
        headers: idempotencyKeyHeader,
        payload: WebhookCreate,
        success: withVersion(WebhookWithSecret),
        error: [InvalidWebhookUrl, LimitReached, ...idempotencyErrors, ...bodyErrors]
      })
        .annotate(OpenApi.Summary, "Create a webhook, and show its secret once")
        .annotate(
          OpenApi.Description,
          "`events` are types of events, groups such as `consumer.*`, or `*`, the default. The response " +
            "contains the secret with which your endpoint verifies the requests; no later response contains it. " +
            "A URL that is not https, or that leads to a private network, gets 422. An account has at most 20 " +
            "webhooks by default; another one gets 409."
        ),
      HttpApiEndpoint.get("get", webhookPath, {
        params: webhookParams,
        success: withVersion(Webhook),
        error: [WebhookNotFound]
      })
        .annotate(OpenApi.Summary, "Get a webhook")
        .annotate(
          OpenApi.Description,
          "`disabledReason` says why Tollgate disabled the webhook. The secret is not in the response."
        ),
      HttpApiEndpoint.patch("update", webhookPath, {
        params: webhookParams,
        query: noQuery,
        headers: ifMatchHeader,
        payload: WebhookUpdate,
        success: withVersion(Webhook),
        error: [WebhookNotFound, InvalidWebhookUrl, LimitReached, VersionMismatch, ...bodyErrors]
      })
        .annotate(OpenApi.Summary, "Update a webhook")
        .annotate(
          OpenApi.Description,
          "Fields that are not in the body stay unchanged, and `null` clears the description. Nothing is sent, " +
            "and nothing is queued, while `state` is `disabled`. A new URL is checked as in a creation, and gets " +
            "422 if nothing can be sent to it. With `If-Match`, a webhook that has changed since gets 412."
        ),
      HttpApiEndpoint.delete("remove", webhookPath, {
        params: webhookParams,
        query: noQuery,
        headers: ifMatchHeader,
        success: HttpApiSchema.NoContent,
        error: [WebhookNotFound, VersionMismatch]
      })
        .annotate(OpenApi.Summary, "Delete a webhook and its deliveries")
        .annotate(
          OpenApi.Description,
          "Nothing is sent any more, and deliveries that are pending are dropped. With `If-Match`, a webhook " +
            "that has changed since gets 412."
        ),
      HttpApiEndpoint.post("rotateSecret", `${webhookPath}/rotate-secret`, {
        params: webhookParams,
        headers: idempotencyKeyHeader,
        success: WebhookSecret,
        error: [WebhookNotFound, ...idempotencyErrors, ...bodyErrors]
      })
        .annotate(OpenApi.Summary, "Replace the secret of a webhook; for 24 hours both sign")
        .annotate(
          OpenApi.Description,
          "The response contains the new secret; no later response contains it. For 24 hours, each request has " +
            "a signature of both secrets, so that your endpoint can change from one to the other."
        ),
      HttpApiEndpoint.post("test", `${webhookPath}/test`, {
        params: webhookParams,
        headers: idempotencyKeyHeader,
        success: Delivery,
        error: [WebhookNotFound, WebhookDisabled, ...idempotencyErrors, ...bodyErrors]
      })
        .annotate(OpenApi.Summary, "Send an event of the type webhook.test to a webhook")
        .annotate(
          OpenApi.Description,
          "The event is not in the event log. The response is the delivery, before its first attempt; list the " +
            "deliveries to see the outcome. A webhook that is disabled gets 409."
        ),
      HttpApiEndpoint.get("deliveries", `${webhookPath}/deliveries`, {
        params: webhookParams,
        query: parameters(pageNewestFirst),
        success: Page(Delivery),
        error: [WebhookNotFound]
      })
        .annotate(OpenApi.Summary, "List the deliveries of a webhook")
        .annotate(
          OpenApi.Description,
          "Returns the deliveries with their attempts, newest first: all that are pending, and the last 1,000 " +
            "others. A delivery that fails is attempted up to 10 times in about three days."
        ),
      HttpApiEndpoint.post("retry", `${webhookPath}/deliveries/:deliveryId/retry`, {
        params: deliveryParams,
        headers: idempotencyKeyHeader,
        success: Delivery,
        error: [WebhookNotFound, DeliveryNotFound, WebhookDisabled, ...idempotencyErrors, ...bodyErrors]
      })
        .annotate(OpenApi.Summary, "Attempt a delivery again now")
        .annotate(
          OpenApi.Description,
          "Also sends a delivery again that has succeeded. The id of the event stays the same, so that your " +
            "endpoint can recognize a repetition. A webhook that is disabled gets 409."
        )
    )
    .prefix("/v1")
    .middleware(Authenticated)
    .annotate(Area, "webhooks")
    .annotate(Owner, "account")
    .annotateMerge(
      OpenApi.annotations({
        title: "Webhooks",
        description: "Endpoints that the events of an account are sent to, by Standard Webhooks."
      })
    )
}

export type WebhooksApi = ReturnType<typeof makeWebhooksApi>

/** The webhooks of an account: endpoints to which its events are sent. */
export interface WebhooksMethods {
  /** Returns a page of webhooks, oldest first. Iterate over it to get all pages. */
  list(options?: PageOptions): PagePromise<WebhookJson>
  /**
   * Creates a webhook. The result contains the secret with which the receiver verifies the requests; it is never shown
   * again.
   */
  create(input: Input<WebhookCreate>, options?: IdempotentCallOptions): Promise<Versioned<WebhookWithSecretJson>>
  /** Returns a webhook. */
  get(webhookId: string, options?: CallOptions): Promise<Versioned<WebhookJson>>
  /** Updates a webhook. A field that is missing stays unchanged; `null` clears the description. */
  update(
    webhookId: string,
    patch: Input<WebhookUpdate>,
    options?: ConditionalCallOptions
  ): Promise<Versioned<WebhookJson>>
  /** Removes a webhook and its deliveries. */
  remove(webhookId: string, options?: ConditionalCallOptions): Promise<void>
  /** Replaces the secret of a webhook. For 24 hours, requests are signed with both. */
  rotateSecret(webhookId: string, options?: IdempotentCallOptions): Promise<typeof WebhookSecret.Encoded>
  /** Sends an event of the type `webhook.test`, which is not in the log, and returns its delivery. */
  test(webhookId: string, options?: IdempotentCallOptions): Promise<DeliveryJson>
  /** Returns a page of the deliveries of a webhook, newest first: all that are pending, and the last 1,000 others. */
  deliveries(webhookId: string, options?: PageOptions): PagePromise<DeliveryJson>
  /** Attempts a delivery again now, also one that has succeeded. */
  retry(webhookId: string, deliveryId: string, options?: IdempotentCallOptions): Promise<DeliveryJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<WebhooksApi, WebhooksMethods>>
