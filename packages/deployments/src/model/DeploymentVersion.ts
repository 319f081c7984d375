/**
 * A version of a deployment, as it is listed: one for each upload.
 */
import { Timestamp } from "@tollgate/core/module"
import { Schema } from "effect"
import { StatusId, VersionStatus } from "./DeploymentStatus.ts"

export const DeploymentVersion = Schema.Struct({
  /** The id of the upload, and of the deployment status. */
  id: StatusId,
  createdOn: Timestamp,
  status: VersionStatus,
  /** The SHA-256 of the source, in hexadecimal. */
  digest: Schema.optionalKey(Schema.String),
  /** The size of the source. */
  bytes: Schema.Int,
  isServed: Schema.Boolean,
  /** Set if the deployment can be rolled back to the version, or the version promoted. */
  isKept: Schema.optionalKey(Schema.Literal(true)),
  /** The address of the version itself, while it is kept. */
  url: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "DeploymentVersion" })
export type DeploymentVersion = typeof DeploymentVersion.Type
/** A version of a deployment, as plain JSON. */
export type DeploymentVersionJson = typeof DeploymentVersion.Encoded
