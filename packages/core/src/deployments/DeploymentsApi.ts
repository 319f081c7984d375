/**
 * Declares the HTTP endpoints of deployments and of source uploads. `http/handlers/DeploymentsHttp.ts` implements them.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import { ifMatchHeader, withETagHeader } from "../api/etag.ts"
import { rejectUnknown } from "../api/parseOptions.ts"
import {
  AlreadyUploadedProblem,
  bodyProblems,
  commonProblems,
  DeploymentNotFoundProblem,
  DeploymentsNotConfiguredProblem,
  idempotencyProblems,
  LimitReachedProblem,
  PayloadTooLargeProblem,
  PreconditionFailedProblem,
  RequestTimeoutProblem,
  SourceUnavailableProblem,
  StatusNotFoundProblem,
  UnsupportedEncodingProblem,
  UploadForbiddenProblem,
  UploadInProgressProblem
} from "../api/problems.ts"
import { emptyQuery, pagination } from "../api/query.ts"
import { AccountName, ProjectName } from "../schema/Names.ts"
import { Page } from "../schema/Page.ts"
import { DeployResult } from "./Deployments.ts"
import { Branch, Deployment } from "./model/Deployment.ts"
import { DeploymentStatus, StatusId } from "./model/DeploymentStatus.ts"

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

export class DeploymentsApi extends HttpApiGroup.make("deployments")
  .add(
    HttpApiEndpoint.get("status", "/accounts/:accountName/projects/:projectName/deployment-status/:statusId", {
      params: { ...projectParams, statusId: Schema.String },
      success: withETagHeader(DeploymentStatus),
      error: [StatusNotFoundProblem, DeploymentsNotConfiguredProblem]
    }).annotate(OpenApi.Summary, "Get deployment status"),
    HttpApiEndpoint.get("list", "/accounts/:accountName/projects/:projectName/deployments", {
      params: projectParams,
      query: pagination,
      success: Page(Deployment),
      error: [DeploymentsNotConfiguredProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "List a project's deployments"),
    HttpApiEndpoint.post("createSource", "/deployments/sources", {
      payload: Branch,
      success: UploadUrl,
      error: [LimitReachedProblem, DeploymentsNotConfiguredProblem, ...idempotencyProblems, ...bodyProblems]
    }).annotate(OpenApi.Summary, "Create an upload URL for a source"),
    HttpApiEndpoint.get("get", "/deployments/:deploymentName", {
      params: deploymentParams,
      success: withETagHeader(Deployment),
      error: [DeploymentNotFoundProblem, DeploymentsNotConfiguredProblem]
    }).annotate(OpenApi.Summary, "Get a deployment"),
    HttpApiEndpoint.delete("remove", "/deployments/:deploymentName", {
      params: deploymentParams,
      query: emptyQuery,
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [DeploymentNotFoundProblem, PreconditionFailedProblem, DeploymentsNotConfiguredProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Delete a deployment and stop serving it"),
    HttpApiEndpoint.post("deploy", "/deployments/:deploymentName/deploy", {
      params: deploymentParams,
      success: DeployResult,
      error: [DeploymentNotFoundProblem, DeploymentsNotConfiguredProblem, ...idempotencyProblems]
    }).annotate(OpenApi.Summary, "Deploy the latest source again")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(HttpApi.PayloadParseOptions, rejectUnknown)
  .annotateMerge(OpenApi.annotations({ title: "Deployments" })) {}

/** Uploads require no token: the signature in the URL authorizes them. */
export class UploadsApi extends HttpApiGroup.make("uploads")
  .add(
    HttpApiEndpoint.put("receive", "/uploads/:file", {
      params: { file: Schema.String },
      query: { expires: Schema.optionalKey(Schema.String), signature: Schema.optionalKey(Schema.String) },
      headers: { "content-digest": Schema.optionalKey(Schema.String) },
      payload: HttpApiSchema.StreamUint8Array({ contentType: "application/gzip" }),
      success: UploadResponse,
      error: [
        UploadForbiddenProblem,
        AlreadyUploadedProblem,
        UploadInProgressProblem,
        LimitReachedProblem,
        PayloadTooLargeProblem,
        UnsupportedEncodingProblem,
        RequestTimeoutProblem,
        SourceUnavailableProblem,
        DeploymentsNotConfiguredProblem,
        ...commonProblems
      ]
    }).annotate(OpenApi.Summary, "Upload a source archive (gzip tar) to a signed upload URL")
  )
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Uploads" })) {}
