/**
 * The HTTP interface of deployments, and of the uploads that they are made from.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import { emptyQuery, ifMatchHeader, rejectUnknown, withETagHeader } from "../api/endpoint.ts"
import { pagination } from "../api/parameters.ts"
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
import { AccountName, ProjectName } from "../schema/Names.ts"
import { Page } from "../schema/Page.ts"
import { DeployResult } from "./Deployments.ts"
import { Branch, Deployment } from "./model/Deployment.ts"
import { DeploymentStatus, StatusId } from "./model/DeploymentStatus.ts"

const project = { accountName: AccountName, projectName: ProjectName }
const item = { deploymentName: Schema.String }

const UploadUrlQuery = Schema.Struct({ uploadUrl: Schema.String }).annotate({ identifier: "UploadAddress" })

export const UploadResult = Schema.Struct({
  id: StatusId,
  /** The SHA-256 of what was received, in hexadecimal digits. */
  digest: Schema.String,
  bytes: Schema.Int
}).annotate({ identifier: "ReceivedSource" })

export class DeploymentsApi extends HttpApiGroup.make("deployments")
  .add(
    HttpApiEndpoint.get("status", "/accounts/:accountName/projects/:projectName/deployment-status/:statusId", {
      params: { ...project, statusId: Schema.String },
      success: withETagHeader(DeploymentStatus),
      error: [StatusNotFoundProblem, DeploymentsNotConfiguredProblem]
    }).annotate(OpenApi.Summary, "Read how a deployment fares"),
    HttpApiEndpoint.get("list", "/accounts/:accountName/projects/:projectName/deployments", {
      params: project,
      query: pagination,
      success: Page(Deployment),
      error: [DeploymentsNotConfiguredProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "List a project's deployments"),
    HttpApiEndpoint.post("createSource", "/deployments/sources", {
      payload: Branch,
      success: UploadUrlQuery,
      error: [LimitReachedProblem, DeploymentsNotConfiguredProblem, ...idempotencyProblems, ...bodyProblems]
    }).annotate(OpenApi.Summary, "Ask for an address to upload a source to"),
    HttpApiEndpoint.get("get", "/deployments/:deploymentName", {
      params: item,
      success: withETagHeader(Deployment),
      error: [DeploymentNotFoundProblem, DeploymentsNotConfiguredProblem]
    }).annotate(OpenApi.Summary, "Read a deployment"),
    HttpApiEndpoint.delete("remove", "/deployments/:deploymentName", {
      params: item,
      query: emptyQuery,
      headers: ifMatchHeader,
      success: HttpApiSchema.NoContent,
      error: [DeploymentNotFoundProblem, PreconditionFailedProblem, DeploymentsNotConfiguredProblem]
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "Stop serving a deployment, and remove everything of it"),
    HttpApiEndpoint.post("deploy", "/deployments/:deploymentName/deploy", {
      params: item,
      success: DeployResult,
      error: [DeploymentNotFoundProblem, DeploymentsNotConfiguredProblem, ...idempotencyProblems]
    }).annotate(OpenApi.Summary, "Deploy the last source again")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(HttpApi.PayloadParseOptions, rejectUnknown)
  .annotateMerge(OpenApi.annotations({ title: "Deployments" })) {}

/** No token is asked for here: the address is signed. */
export class UploadsApi extends HttpApiGroup.make("uploads")
  .add(
    HttpApiEndpoint.put("receive", "/uploads/:file", {
      params: { file: Schema.String },
      query: { expires: Schema.optionalKey(Schema.String), signature: Schema.optionalKey(Schema.String) },
      headers: { "content-digest": Schema.optionalKey(Schema.String) },
      payload: HttpApiSchema.StreamUint8Array({ contentType: "application/gzip" }),
      success: UploadResult,
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
    }).annotate(OpenApi.Summary, "Upload a source, as a gzip tar, to the address that was given out for it")
  )
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Uploads" })) {}
