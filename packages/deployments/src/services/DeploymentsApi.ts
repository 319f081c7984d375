/**
 * Declares the operations on deployments, and the upload of sources. `Deployments.ts` and `uploads/Uploads.ts`
 * implement them.
 */

import {
  AccountName,
  Area,
  Authenticated,
  bodyErrors,
  type CallOptions,
  type CheckMethods,
  type ConditionalCallOptions,
  commonErrors,
  type Expect,
  type IdempotentCallOptions,
  idempotencyErrors,
  idempotencyKeyHeader,
  ifMatchHeader,
  ignoreUnknown,
  LimitReached,
  noQuery,
  Owner,
  optional,
  Page,
  type PageOptions,
  type PagePromise,
  PathParameters,
  PayloadTooLarge,
  page,
  pageNewestFirst,
  parameters,
  RateLimited,
  RequestTimeout,
  UnsupportedEncoding,
  type Versioned,
  VersionMismatch,
  withVersion
} from "@tollgate/core/module"
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Branch, Deployment, type DeploymentJson, DeployResult } from "../model/Deployment.ts"
import {
  AlreadyUploaded,
  DeploymentNotFound,
  ReleaseNotKept,
  SourceStoreError,
  StatusNotFound,
  UploadForbidden,
  UploadInProgress
} from "../model/DeploymentError.ts"
import { DeploymentLog, type DeploymentLogJson, logPositionHeader } from "../model/DeploymentLog.ts"
import { DeploymentStatus, type DeploymentStatusJson, StatusId } from "../model/DeploymentStatus.ts"
import { DeploymentVersion, type DeploymentVersionJson } from "../model/DeploymentVersion.ts"
import { ProjectName } from "../model/names.ts"

const projectParams = { accountName: AccountName, projectName: ProjectName }
const deploymentParams = { deploymentName: Schema.String }

/** The identifier is the public name in the OpenAPI description. */
const UploadUrl = Schema.Struct({ uploadUrl: Schema.String }).annotate({ identifier: "UploadAddress" })

/** The identifier is the public name in the OpenAPI description. */
export const UploadResponse = Schema.Struct({
  id: StatusId,
  /** SHA-256 of the received archive, in hexadecimal. */
  digest: Schema.String,
  bytes: Schema.Int
}).annotate({ identifier: "ReceivedSource" })

/** An operation that serves a version which is kept. */
const serve = <const Name extends "rollback" | "promote", Payload extends Schema.Top>(name: Name, payload: Payload) =>
  HttpApiEndpoint.post(name, `/deployments/:deploymentName/${name}`, {
    params: deploymentParams,
    headers: idempotencyKeyHeader,
    payload,
    success: Deployment,
    error: [DeploymentNotFound, ReleaseNotKept, ...idempotencyErrors, ...bodyErrors]
  }).annotate(Owner, "deployment")

export class DeploymentsApi extends HttpApiGroup.make("deployments")
  .add(
    HttpApiEndpoint.get("status", "/accounts/:accountName/projects/:projectName/deployment-status/:statusId", {
      params: { ...projectParams, statusId: Schema.String },
      success: withVersion(DeploymentStatus),
      error: [StatusNotFound]
    })
      .annotate(OpenApi.Summary, "Get deployment status")
      .annotate(
        OpenApi.Description,
        "Returns the steps of the deployment that an upload started, and the result and the log of its " +
          "build. The id is the file name in the upload URL, without `.tar.gz`. It gets 404 until the upload " +
          "is complete. Poll until `status` is `SUCCESS` or `ERROR`."
      )
      .annotate(Owner, "account"),
    HttpApiEndpoint.get("log", "/accounts/:accountName/projects/:projectName/deployment-status/:statusId/log", {
      params: { ...projectParams, statusId: Schema.String },
      headers: logPositionHeader,
      success: DeploymentLog,
      error: [StatusNotFound, RateLimited]
    })
      .annotate(OpenApi.Summary, "Read or follow a deployment log")
      .annotate(
        OpenApi.Description,
        "Returns the lines of the log after `Last-Event-ID`, or the last 200. With `Accept: text/event-stream`, it " +
          "goes on with each new line as an event, whose id is the number of the line, until the event `end`. A stream " +
          "lasts 10 minutes at most, and ends within 10 seconds when the credential is revoked: resume with the id of " +
          "the last event. A client that has all gets 204. An account may have 20 open streams; another one gets 429."
      )
      .annotate(Owner, "account"),
    HttpApiEndpoint.get("list", "/accounts/:accountName/projects/:projectName/deployments", {
      params: projectParams,
      query: parameters(page),
      success: Page(Deployment)
    })
      .annotate(OpenApi.Summary, "List a project's deployments")
      .annotate(
        OpenApi.Description,
        "Returns the deployments of the project, oldest first: one for each branch that a source was " + "uploaded for."
      )
      .annotate(Owner, "account"),
    HttpApiEndpoint.post("createSource", "/deployments/sources", {
      headers: idempotencyKeyHeader,
      payload: Branch,
      success: UploadUrl,
      error: [LimitReached, ...idempotencyErrors, ...bodyErrors]
    })
      .annotate(OpenApi.Summary, "Create an upload URL for a source")
      .annotate(
        OpenApi.Description,
        "The URL is signed, for one upload within one hour, and needs no token. The upload creates the " +
          "deployment of the branch, or a new version of it at the same URL. An account has a limited number " +
          "of open upload URLs (100 by default); another one gets 409."
      )
      .annotate(Owner, "request"),
    HttpApiEndpoint.get("get", "/deployments/:deploymentName", {
      params: deploymentParams,
      success: withVersion(Deployment),
      error: [DeploymentNotFound]
    })
      .annotate(OpenApi.Summary, "Get a deployment")
      .annotate(
        OpenApi.Description,
        "`state` is `STARTED` while a version is served. Until then it is `PENDING`, or `ERRORED` if the last " +
          "run failed. `message` says why the last run failed. A deployment of another account gets 404, like " +
          "one that does not exist."
      )
      .annotate(Owner, "deployment"),
    HttpApiEndpoint.get("versions", "/deployments/:deploymentName/versions", {
      params: deploymentParams,
      query: parameters(pageNewestFirst),
      success: Page(DeploymentVersion),
      error: [DeploymentNotFound]
    })
      .annotate(OpenApi.Summary, "List a deployment's versions")
      .annotate(
        OpenApi.Description,
        "Returns the versions of the deployment, newest first: one for each upload. Tollgate remembers the " +
          "latest 10, and those that are kept. `isServed` marks the version that is served, and `isKept` those " +
          "that it can be rolled back to; each of these has a `url` of its own."
      )
      .annotate(Owner, "deployment"),
    HttpApiEndpoint.delete("remove", "/deployments/:deploymentName", {
      params: deploymentParams,
      query: noQuery,
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [DeploymentNotFound, VersionMismatch]
    })
      .annotate(OpenApi.Summary, "Delete a deployment and stop serving it")
      .annotate(
        OpenApi.Description,
        "Deletes the deployment with its versions, statuses and sources. Its name stays reserved for the " +
          "branch. With `If-Match`, a deployment that has changed since gets 412."
      )
      .annotate(Owner, "deployment"),
    HttpApiEndpoint.post("deploy", "/deployments/:deploymentName/deploy", {
      params: deploymentParams,
      headers: idempotencyKeyHeader,
      success: DeployResult,
      error: [DeploymentNotFound, ...idempotencyErrors]
    })
      .annotate(OpenApi.Summary, "Deploy the latest source again")
      .annotate(
        OpenApi.Description,
        "Runs the steps again on the source of the latest version. The version that is served stays until " +
          "the new release has passed its check. If a run is in progress, nothing is started, and `status` is " +
          "`already in progress`. A deployment that is pinned stays pinned."
      )
      .annotate(Owner, "deployment"),
    serve("rollback", Schema.Struct({ version: StatusId }))
      .annotate(OpenApi.Summary, "Roll a deployment back to a version that is kept")
      .annotate(
        OpenApi.Description,
        "Serves the release of the version at once, without a build, and pins the deployment: later uploads are " +
          "built and checked, and then wait until one is promoted. Kept are the last 10 versions that passed their " +
          "check, and the one that is served; another one gets 409. If the version is served already, nothing changes."
      ),
    serve("promote", Schema.Struct({ version: Schema.optionalKey(StatusId) }))
      .annotate(OpenApi.Summary, "Serve a version that is kept, and unpin the deployment")
      .annotate(
        OpenApi.Description,
        "Serves the release of the version at once, by default of the newest that passed its check, and ends what a " +
          "rollback began: the next upload is served again when it has passed its check. A version that is not kept " +
          "gets 409. If the version is served already and the deployment is not pinned, nothing changes."
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "deployments")
  .annotate(PathParameters, { statusId: "Id of the upload: the file name in its URL, without `.tar.gz`." })
  .annotateMerge(
    OpenApi.annotations({
      title: "Deployments",
      description: "Sites that are served, one for each branch of a project."
    })
  ) {}

/** Uploads require no token: the signature in the URL authorizes them. */
export class UploadsApi extends HttpApiGroup.make("uploads")
  .add(
    HttpApiEndpoint.put("receive", "/uploads/:file", {
      params: { file: Schema.String },
      query: parameters({
        expires: optional(Schema.String, { description: "From the upload URL." }),
        signature: optional(Schema.String, { description: "From the upload URL." })
      }),
      headers: parameters({
        contentDigest: optional(Schema.String, {
          name: "content-digest",
          description: "SHA-256 or SHA-512 of the archive (RFC 9530). An archive that does not match is rejected."
        })
      }),
      payload: HttpApiSchema.StreamUint8Array({ contentType: "application/gzip" }),
      success: UploadResponse,
      error: [
        UploadForbidden,
        AlreadyUploaded,
        UploadInProgress,
        LimitReached,
        PayloadTooLarge,
        UnsupportedEncoding,
        RequestTimeout,
        SourceStoreError,
        ...commonErrors
      ]
    })
      .annotate(HttpApi.QueryParseOptions, ignoreUnknown)
      .annotate(OpenApi.Summary, "Upload a source archive (gzip tar) to a signed upload URL")
      .annotate(
        OpenApi.Description,
        "The signature in the URL authorizes the upload, so it needs no token. Tollgate stores the archive " +
          "and starts the deployment. A URL that is invalid or has expired gets 403, one that was used 409, " +
          "and an archive above the size limit (100 MiB by default) 413. An upload that breaks off leaves " +
          "nothing behind, and the URL stays valid."
      )
  )
  .prefix("/v1")
  .annotate(Owner, "none")
  .annotate(PathParameters, { file: "File name from the upload URL." })
  .annotateMerge(
    OpenApi.annotations({ title: "Uploads", description: "Sources of deployments, sent to a signed URL." })
  ) {}

/** The deployments of a project. */
export interface DeploymentsMethods {
  /** Returns a page of the project's deployments, oldest first. Iterate over it to get all pages. */
  list(options?: PageOptions): PagePromise<DeploymentJson>
  /**
   * Creates a signed URL for one upload of a branch's source. The file name in the URL, without `.tar.gz`, is the id of
   * the deployment status.
   */
  createSource(
    input: { readonly branchName: string },
    options?: IdempotentCallOptions
  ): Promise<{ readonly uploadUrl: string }>
  /** Returns the status of the deployment that an upload started. */
  status(statusId: string, options?: CallOptions): Promise<Versioned<DeploymentStatusJson>>
  /** Returns the lines of the log after a position: the `next` of an earlier result, or the number of a line. */
  log(statusId: string, options?: CallOptions & { readonly after?: string | undefined }): Promise<DeploymentLogJson>
  /** Returns a deployment. */
  get(name: string, options?: CallOptions): Promise<Versioned<DeploymentJson>>
  /** Returns a page of a deployment's versions, newest first. Tollgate remembers the latest 10, and those that are kept. */
  versions(name: string, options?: PageOptions): PagePromise<DeploymentVersionJson>
  /** Deploys the latest source again. */
  deploy(name: string, options?: IdempotentCallOptions): Promise<DeployResult>
  /** Serves an earlier version that is kept, without a build. Later versions wait until one is promoted. */
  rollback(name: string, input: { readonly version: string }, options?: IdempotentCallOptions): Promise<DeploymentJson>
  /** Serves a version that is kept, by default the newest, and ends what a rollback began. */
  promote(
    name: string,
    input?: { readonly version?: string | undefined },
    options?: IdempotentCallOptions
  ): Promise<DeploymentJson>
  /** Stops serving a deployment, and deletes all its data. */
  remove(name: string, options?: ConditionalCallOptions): Promise<void>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof DeploymentsApi, DeploymentsMethods>>
