/**
 * Declares the operations on grants. `Grants.ts` implements them.
 */

import { InvalidInput, MeterName, Page } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { LimitReached } from "../../accounts/limits/LimitReached.ts"
import { Authenticated } from "../../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../../api/checkMethods.ts"
import { bodyErrors, idempotencyErrors } from "../../api/errors.ts"
import { idempotencyKeyHeader } from "../../api/headers.ts"
import type {
  CallOptions,
  IdempotentCallOptions,
  Input,
  PageOptions,
  PagePromise,
  WriteCallOptions
} from "../../api/Methods.ts"
import { Area, NarrowPermissions, Owner } from "../../api/Owner.ts"
import { optional, parameters } from "../../api/parameters.ts"
import { noQuery, page } from "../../api/query.ts"
import { Grant, GrantCreate, type GrantJson, GrantState } from "../model/Grant.ts"
import { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { GrantExternalIdTaken, GrantNotFound, TooManyGrants } from "./GrantError.ts"

const params = { bucketId: Schema.String, customerKey: Schema.String }
const grantParams = { ...params, grantId: Schema.String }

export class GrantsApi extends HttpApiGroup.make("grants")
  .add(
    HttpApiEndpoint.get("list", "/metering/:bucketId/customers/:customerKey/grants", {
      params,
      query: parameters({
        ...page,
        meter: optional(MeterName, { description: "Return only the grants of this meter." }),
        state: optional(GrantState, { description: "Return only the grants in this state." })
      }),
      success: Page(Grant),
      error: [InvalidInput, MeteringBucketNotFound]
    })
      .annotate(OpenApi.Summary, "List the grants of a customer")
      .annotate(
        OpenApi.Description,
        "Returns the grants that match all given filters, in any state, oldest first. `used` has what open reservations hold."
      ),
    HttpApiEndpoint.post("create", "/metering/:bucketId/customers/:customerKey/grants", {
      params,
      headers: idempotencyKeyHeader,
      payload: GrantCreate,
      success: Grant,
      error: [
        MeteringBucketNotFound,
        GrantExternalIdTaken,
        TooManyGrants,
        LimitReached,
        ...idempotencyErrors,
        ...bodyErrors
      ]
    })
      .annotate(NarrowPermissions, { "grants:write": () => true })
      .annotate(OpenApi.Summary, "Grant a customer an amount of a meter")
      .annotate(
        OpenApi.Description,
        "Use takes the allowance of the plans first, then grants by `priority` (the lowest first), expiry and age, then " +
          "overage. A grant is spent by the newest subscription that allows usage and has the meter, and waits until there is " +
          "one; a plan with `max: 0` is prepaid only. `effectiveOn` is now by default. A grant without `expiresOn` stays until " +
          "it is used up or voided. With an `externalId` that a grant of the metering bucket has already, the same content gets " +
          "that grant, and other content 409. A customer may have 100 pending and active grants of a meter."
      ),
    HttpApiEndpoint.get("get", "/metering/:bucketId/customers/:customerKey/grants/:grantId", {
      params: grantParams,
      success: Grant,
      error: [MeteringBucketNotFound, GrantNotFound]
    })
      .annotate(OpenApi.Summary, "Get a grant")
      .annotate(
        OpenApi.Description,
        "`remaining` is `amount` less `used` in every state; only that of an `active` grant can be used."
      ),
    HttpApiEndpoint.post("void", "/metering/:bucketId/customers/:customerKey/grants/:grantId/void", {
      params: grantParams,
      query: noQuery,
      success: Grant,
      error: [MeteringBucketNotFound, GrantNotFound]
    })
      .annotate(NarrowPermissions, { "grants:write": () => true })
      .annotate(OpenApi.Summary, "Void a grant")
      .annotate(
        OpenApi.Description,
        "Takes back what the grant has left; what was used of it stays used. A reservation that gives back to it later gives " +
          "nothing. A grant that has expired or was voided stays as it is."
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "metering")
  .annotate(Owner, "metering-bucket")
  .annotateMerge(
    OpenApi.annotations({
      title: "Grants",
      description: "What customers get beyond the allowance of their plans: top-ups, trial credit, goodwill."
    })
  ) {}

/** The grants of a customer. */
export interface GrantsMethods {
  /** Returns a page of the grants, oldest first. Iterate over it to get all pages. */
  list(
    options?: PageOptions & { readonly meter?: string | undefined; readonly state?: GrantState | undefined }
  ): PagePromise<GrantJson>
  /**
   * Gives the customer an amount of a meter. With an `externalId`, the same call again returns the same grant.
   *
   * @example
   * ```ts
   * await billing.customer("alice").grants.create({ meter: "tokens", amount: 500_000, externalId: "payment-17" })
   * ```
   */
  create(input: Input<typeof GrantCreate>, options?: IdempotentCallOptions): Promise<GrantJson>
  get(grantId: string, options?: CallOptions): Promise<GrantJson>
  /** Takes back what the grant has left. */
  void(grantId: string, options?: WriteCallOptions): Promise<GrantJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof GrantsApi, GrantsMethods>>
