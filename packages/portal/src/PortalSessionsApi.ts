/**
 * Declares the operations on sessions of customers. `PortalSessions.ts` implements them.
 */
import {
  AccountName,
  Area,
  Authenticated,
  bodyErrors,
  type CheckMethods,
  ConsumerName,
  ConsumerNotFound,
  type Expect,
  type IdempotentCallOptions,
  type Input,
  InvalidInput,
  idempotencyErrors,
  idempotencyKeyHeader,
  KeyBucketName,
  LimitReached,
  MeteringBucketNotFound,
  noQuery,
  Owner,
  Page,
  type PageOptions,
  type PagePromise,
  page,
  parameters,
  type WriteCallOptions
} from "@tollgate/core/module"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ConsumerDisabled, PortalSessionNotFound } from "./PortalError.ts"
import {
  NewPortalSession,
  type NewPortalSessionJson,
  PortalSession,
  PortalSessionCreate,
  type PortalSessionJson
} from "./PortalSession.ts"

export const consumerParams = { accountName: AccountName, bucketName: KeyBucketName, consumerName: ConsumerName }
export const consumerPath = "/accounts/:accountName/key-buckets/:bucketName/consumers/:consumerName"
const path = `${consumerPath}/portal-sessions` as const

export class PortalSessionsApi extends HttpApiGroup.make("portalSessions")
  .add(
    HttpApiEndpoint.get("list", path, {
      params: consumerParams,
      query: parameters(page),
      success: Page(PortalSession),
      error: [ConsumerNotFound]
    })
      .annotate(OpenApi.Summary, "List the portal sessions of a consumer")
      .annotate(
        OpenApi.Description,
        "Returns the sessions of the customer in its portal, oldest first, without their tokens, until an hour after their end."
      ),
    HttpApiEndpoint.post("create", path, {
      params: consumerParams,
      headers: idempotencyKeyHeader,
      payload: PortalSessionCreate,
      success: NewPortalSession,
      error: [
        ConsumerNotFound,
        ConsumerDisabled,
        InvalidInput,
        MeteringBucketNotFound,
        LimitReached,
        ...idempotencyErrors,
        ...bodyErrors
      ]
    })
      .annotate(OpenApi.Summary, "Open the portal for a consumer")
      .annotate(
        OpenApi.Description,
        "Send the customer to `url`, or use `token` as its credential. It reaches the portal of this consumer and nothing " +
          "else, and of that what `allow` names: `keys:read`, `keys:write` and `usage:read` by default, and `plan:change`. A session lasts an hour, " +
          "or `expiresIn` seconds, at most a day; it is closed while the consumer is disabled, and ends when it is deleted. `returnUrl` is an https URL or one " +
          "of the origin of this server."
      ),
    HttpApiEndpoint.delete("remove", `${path}/:sessionId`, {
      params: { ...consumerParams, sessionId: Schema.String },
      query: noQuery,
      success: HttpApiSchema.NoContent,
      error: [ConsumerNotFound, PortalSessionNotFound]
    })
      .annotate(OpenApi.Summary, "Revoke a portal session")
      .annotate(OpenApi.Description, "All processes refuse its token at once."),
    HttpApiEndpoint.delete("removeAll", path, {
      params: consumerParams,
      query: noQuery,
      success: HttpApiSchema.NoContent,
      error: [ConsumerNotFound]
    })
      .annotate(OpenApi.Summary, "Revoke all portal sessions of a consumer")
      .annotate(OpenApi.Description, "All processes refuse their tokens at once.")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "portal")
  .annotate(Owner, "account")
  .annotateMerge(
    OpenApi.annotations({ title: "Portal sessions", description: "Sessions of customers in their portal." })
  ) {}

/** Sessions of customers in their portal. */
export interface PortalSessionsMethods {
  /** Returns a page of the sessions of a consumer, oldest first. Iterate over it to get all pages. */
  list(bucketName: string, consumerName: string, options?: PageOptions): PagePromise<PortalSessionJson>
  /** Opens the portal for a consumer. The result contains the token, which is never shown again. */
  create(
    bucketName: string,
    consumerName: string,
    input?: Input<typeof PortalSessionCreate>,
    options?: IdempotentCallOptions
  ): Promise<NewPortalSessionJson>
  /** Revokes a session. All processes refuse its token at once. */
  remove(bucketName: string, consumerName: string, sessionId: string, options?: WriteCallOptions): Promise<void>
  /** Revokes all sessions of a consumer. All processes refuse their tokens at once. */
  removeAll(bucketName: string, consumerName: string, options?: WriteCallOptions): Promise<void>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof PortalSessionsApi, PortalSessionsMethods>>
