import { Schema } from "effect"

/** This process was not told where to keep sources and where to deploy them. */
export class DeploymentsNotConfigured extends Schema.TaggedError<DeploymentsNotConfigured>()(
  "DeploymentsNotConfigured",
  {}
) {
  override get message(): string {
    return "Deployments are not set up on this server: give createTollgate the option deployments, and publicUrl"
  }
}

export class DeploymentNotFound extends Schema.TaggedError<DeploymentNotFound>()("DeploymentNotFound", {
  deployment: Schema.String
}) {
  override get message(): string {
    return `There is no deployment "${this.deployment}" here`
  }
}

/** No upload of that id has been completed. */
export class StatusNotFound extends Schema.TaggedError<StatusNotFound>()("StatusNotFound", {
  statusId: Schema.String
}) {
  override get message(): string {
    return `There is no deployment status "${this.statusId}" here; it is made when the upload is complete`
  }
}

/** The address of an upload is not one that was given out, or its hour is over: which of the two is not told. */
export class UploadForbidden extends Schema.TaggedError<UploadForbidden>()("UploadForbidden", {}) {
  override get message(): string {
    return "This upload address is not valid, or no longer; ask for a new one"
  }
}

export class AlreadyUploaded extends Schema.TaggedError<AlreadyUploaded>()("AlreadyUploaded", {}) {
  override get message(): string {
    return "This address has been used: it is for one upload; ask for a new one"
  }
}

/** Another request is sending to the same address. */
export class UploadInProgress extends Schema.TaggedError<UploadInProgress>()("UploadInProgress", {}) {
  override get message(): string {
    return "Another upload to this address is in progress. If its server stopped, try again in 30 seconds."
  }
}

export class SourceTooLarge extends Schema.TaggedError<SourceTooLarge>()("SourceTooLarge", { limit: Schema.Int }) {
  override get message(): string {
    return `A source may have ${this.limit} bytes; leave out what is not deployed`
  }
}

/** The source did not arrive whole: nothing of it is kept, and the address is still good. */
export class UploadInterrupted extends Schema.TaggedError<UploadInterrupted>()("UploadInterrupted", {
  problem: Schema.String
}) {
  override get message(): string {
    return `The source did not arrive whole: ${this.problem}; send it again`
  }
}

/** The sender stopped sending, or sends too slowly. */
export class UploadStalled extends Schema.TaggedError<UploadStalled>()("UploadStalled", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}

/** What was to keep the source could not. The problem is for the log. */
export class SourceStoreError extends Schema.TaggedError<SourceStoreError>()("SourceStoreError", {
  problem: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message(): string {
    return `The source cannot be kept or read: ${this.problem}`
  }
}
