import { addHidden, defineError } from "@tollgate/core/module"
import { Schema } from "effect"

export class DeploymentNotFound extends defineError<DeploymentNotFound>()(
  "DeploymentNotFound",
  {
    code: "deployment-not-found",
    status: 404,
    title: "Deployment not found",
    meaning: "There is no deployment of this name, it belongs to another account, or it has no version to deploy.",
    remedy: "Check the name. List the deployments of the project to find it.",
    detail: ({ deployment }) => `There is no deployment "${deployment}"`
  },
  { deployment: Schema.String.annotate({ description: "The requested name." }) }
) {}

/** The version cannot be served: Tollgate no longer has its release, or never had one. */
export class ReleaseNotKept extends defineError<ReleaseNotKept>()(
  "ReleaseNotKept",
  {
    code: "release-not-kept",
    status: 409,
    title: "Release not kept",
    meaning:
      "The release of this version is not kept. Tollgate keeps the releases of the last 10 versions that passed their " +
      "check, and the one that is served, if the target keeps releases. With `isLost`, it was kept, but the target no " +
      "longer has its files.",
    remedy: "List the versions of the deployment and choose another one with `isKept`, or upload the source again.",
    detail: ({ deployment, version, isLost }) =>
      isLost
        ? `The files of the version "${version}" of "${deployment}" are lost. Upload its source again, or choose another version.`
        : version === undefined
          ? `The deployment "${deployment}" has no version that can be served`
          : `The deployment "${deployment}" has no release of the version "${version}". List its versions to find one.`
  },
  {
    deployment: Schema.String.annotate({ description: "The name of the deployment." }),
    version: Schema.optionalKey(Schema.String.annotate({ description: "The version that cannot be served." })),
    isLost: Schema.optionalKey(
      Schema.Literal(true).annotate({ description: "The version is kept, but the target has lost its files." })
    )
  }
) {}

/** No upload with this id has completed. */
export class StatusNotFound extends defineError<StatusNotFound>()(
  "StatusNotFound",
  {
    code: "status-not-found",
    status: 404,
    title: "Deployment status not found",
    meaning:
      "There is no deployment status with this ID. It exists once the upload is complete, until the deployment is " +
      "removed or has ten newer versions and does not keep this one.",
    remedy:
      "Complete the upload first. The ID is in the upload URL and in the response to the upload. If it was complete, " +
      "list the versions of the deployment.",
    detail: ({ statusId }) => `There is no deployment status "${statusId}". It is created when the upload completes.`
  },
  { statusId: Schema.String.annotate({ description: "The requested ID." }) }
) {}

/** The upload URL has an invalid signature or has expired. The error does not say which. */
export class UploadForbidden extends defineError<UploadForbidden>()("UploadForbidden", {
  code: "upload-forbidden",
  status: 403,
  title: "Invalid upload URL",
  meaning: "The upload URL has a wrong signature or has expired. The error does not say which.",
  remedy: "Request a new upload URL and use it within an hour, unchanged.",
  detail: () => "This upload URL is invalid or has expired. Request a new one."
}) {}

export class AlreadyUploaded extends defineError<AlreadyUploaded>()("AlreadyUploaded", {
  code: "already-uploaded",
  status: 409,
  title: "Upload URL already used",
  meaning: "The upload URL has been used. Each URL takes one source.",
  remedy: "Request a new upload URL for each upload. After a lost response, read the deployment status first.",
  detail: () => "This upload URL has already been used. Request a new one for each upload."
}) {}

/** Another request is uploading to the same URL. */
export class UploadInProgress extends defineError<UploadInProgress>()("UploadInProgress", {
  code: "upload-in-progress",
  status: 409,
  title: "Upload in progress",
  meaning: "Another request is uploading to the same URL.",
  remedy: "Wait for it. If its server stopped, try again in 30 seconds.",
  detail: () => "Another upload to this URL is in progress. If its server stopped, try again in 30 seconds."
}) {}

/** The source store failed. `problem` and `cause` are logged and not sent to clients. */
export class SourceStoreError extends defineError<SourceStoreError>()("SourceStoreError", {
  code: "source-unavailable",
  status: 503,
  title: "Source storage unavailable",
  meaning: "The source of a deployment cannot be stored now. Nothing was kept.",
  remedy:
    "Send the source again; the upload URL is still valid. The operator finds the cause in the server log, such as " +
    "a full disk.",
  detail: () => "The source was not stored. The upload URL is still valid; try again.",
  schemaName: "SourceUnavailableProblem"
}) {
  readonly problem: string

  constructor(members: { readonly problem?: string; readonly cause?: unknown } = {}) {
    const { problem = "the server cannot store it now", cause, ...rest } = members
    super(rest)
    this.problem = problem
    addHidden(this, { cause, logsCause: true })
  }

  override get message(): string {
    return `The source cannot be stored or read: ${this.problem}`
  }
}
