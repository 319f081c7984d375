/**
 * Declares the operations on metering buckets. `MeteringBuckets.ts` implements them.
 */

import { AccountName, Page, VersionMismatch } from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { LimitReached } from "../../accounts/limits/LimitReached.ts"
import { Authenticated } from "../../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../../api/checkMethods.ts"
import { bodyErrors, idempotencyErrors } from "../../api/errors.ts"
import { idempotencyKeyHeader, ifMatchHeader } from "../../api/headers.ts"
import type {
  CallOptions,
  ConditionalCallOptions,
  IdempotentCallOptions,
  PageOptions,
  PagePromise,
  Versioned
} from "../../api/Methods.ts"
import { Area, Owner } from "../../api/Owner.ts"
import { optional, parameters } from "../../api/parameters.ts"
import { noQuery, page } from "../../api/query.ts"
import { withVersion } from "../../api/withVersion.ts"
import {
  MeteringBucket,
  MeteringBucketCreate,
  type MeteringBucketJson,
  MeteringBucketName
} from "../model/MeteringBucket.ts"
import { MeteringBucketNameTaken, MeteringBucketNotFound } from "../model/MeteringBucketError.ts"

const bucketParams = { bucketId: Schema.String }

export class MeteringBucketsApi extends HttpApiGroup.make("buckets")
  .add(
    HttpApiEndpoint.get("list", "/metering", {
      query: parameters({
        ...page,
        accountName: optional(AccountName, { description: "Return only the metering buckets of this account." }),
        name: optional(MeteringBucketName, { description: "Return only the metering bucket with this name." })
      }),
      success: Page(MeteringBucket)
    })
      .annotate(OpenApi.Summary, "List metering buckets")
      .annotate(
        OpenApi.Description,
        "Returns the metering buckets of the caller's account, oldest first. For a credential for all " +
          "accounts these are the buckets of all accounts, unless `accountName` names one. A credential for " +
          "one account that names another gets 403."
      )
      .annotate(Owner, "request"),
    HttpApiEndpoint.post("create", "/metering", {
      headers: idempotencyKeyHeader,
      payload: MeteringBucketCreate,
      success: withVersion(MeteringBucket),
      error: [MeteringBucketNameTaken, LimitReached, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Create a metering bucket")
      .annotate(
        OpenApi.Description,
        "The body is optional. `accountName` is the caller's account by default; a credential for all " +
          "accounts must name one. `name` is optional and cannot change; a name that is taken in the account " +
          "gets 409."
      )
      .annotate(Owner, "request"),
    HttpApiEndpoint.get("get", "/metering/:bucketId", {
      params: bucketParams,
      success: withVersion(MeteringBucket),
      error: [MeteringBucketNotFound]
    })
      .annotate(OpenApi.Summary, "Get a metering bucket")
      .annotate(OpenApi.Description, "A metering bucket of another account gets 404, like one that does not exist.")
      .annotate(Owner, "metering-bucket"),
    HttpApiEndpoint.delete("remove", "/metering/:bucketId", {
      params: bucketParams,
      query: noQuery,
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [MeteringBucketNotFound, VersionMismatch]
    })
      .annotate(OpenApi.Summary, "Delete a metering bucket and everything in it")
      .annotate(
        OpenApi.Description,
        "Deletes the metering bucket with its plans, subscriptions and usage. Tollgate completes a removal " +
          "that is interrupted. With `If-Match`, another version gets 412."
      )
      .annotate(Owner, "metering-bucket")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "metering")
  .annotateMerge(
    OpenApi.annotations({ title: "Metering buckets", description: "Containers of plans, subscriptions and usage." })
  ) {}

/** The metering buckets of an account. */
export interface MeteringBucketsMethods {
  /** Returns a page of the metering buckets, oldest first. Iterate over it to get all pages. */
  list(options?: PageOptions & { readonly name?: string | undefined }): PagePromise<MeteringBucketJson>
  /** Creates a metering bucket. A name is optional, and unique in the account. */
  create(
    input?: { readonly name?: string | undefined },
    options?: IdempotentCallOptions
  ): Promise<Versioned<MeteringBucketJson>>
  /** Returns a metering bucket. */
  get(meteringBucketId: string, options?: CallOptions): Promise<Versioned<MeteringBucketJson>>
  /** Deletes a metering bucket with its plans, subscriptions and usage. */
  remove(meteringBucketId: string, options?: ConditionalCallOptions): Promise<void>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof MeteringBucketsApi, MeteringBucketsMethods>>
