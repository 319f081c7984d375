import { Schema } from "effect"

/** `createTollgate` was called without the `deployments` option. */
export class DeploymentsNotConfigured extends Schema.TaggedError<DeploymentsNotConfigured>()(
  "DeploymentsNotConfigured",
  {}
) {
  override get message(): string {
    return "Deployments are not configured on this server. Pass deployments and publicUrl to createTollgate."
  }
}

export class DeploymentNotFound extends Schema.TaggedError<DeploymentNotFound>()("DeploymentNotFound", {
  deployment: Schema.String
}) {
  override get message(): string {
    return `There is no deployment "${this.deployment}"`
  }
}

/** No upload with this id has completed. */
export class StatusNotFound extends Schema.TaggedError<StatusNotFound>()("StatusNotFound", {
  statusId: Schema.String
}) {
  override get message(): string {
    return `There is no deployment status "${this.statusId}". It is created when the upload completes.`
  }
}

/** The upload URL has an invalid signature or has expired. The error does not say which. */
export class UploadForbidden extends Schema.TaggedError<UploadForbidden>()("UploadForbidden", {}) {
  override get message(): string {
    return "This upload URL is invalid or has expired. Request a new one."
  }
}

export class AlreadyUploaded extends Schema.TaggedError<AlreadyUploaded>()("AlreadyUploaded", {}) {
  override get message(): string {
    return "This upload URL has already been used. Request a new one for each upload."
  }
}

/** Another request is uploading to the same URL. */
export class UploadInProgress extends Schema.TaggedError<UploadInProgress>()("UploadInProgress", {}) {
  override get message(): string {
    return "Another upload to this URL is in progress. If its server stopped, try again in 30 seconds."
  }
}

export class SourceTooLarge extends Schema.TaggedError<SourceTooLarge>()("SourceTooLarge", { limit: Schema.Int }) {
  override get message(): string {
    return `The source exceeds the limit of ${this.limit} bytes. Leave out files that are not deployed.`
  }
}

/** The upload ended before the whole source arrived. Nothing is stored, and the upload URL remains valid. */
export class UploadInterrupted extends Schema.TaggedError<UploadInterrupted>()("UploadInterrupted", {
  problem: Schema.String
}) {
  override get message(): string {
    return `The upload is incomplete: ${this.problem}. Send the source again.`
  }
}

/** The client stopped sending or sends too slowly. */
export class UploadStalled extends Schema.TaggedError<UploadStalled>()("UploadStalled", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}

/** The source store failed. The problem is logged and not included in HTTP responses. */
export class SourceStoreError extends Schema.TaggedError<SourceStoreError>()("SourceStoreError", {
  problem: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message(): string {
    return `The source cannot be stored or read: ${this.problem}`
  }
}
