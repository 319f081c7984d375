/**
 * A deployment: the site that Tollgate serves for one branch of a project. A later upload for the branch creates a new
 * version of the same deployment, at the same URL.
 */
import { AccountName, Timestamp } from "@tollgate/core/module"
import { Schema } from "effect"
import { BranchName, ProjectName } from "./names.ts"

/** Valid as a path segment and as a host name label. */
export const DeploymentName = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,62}$/u, {
      expected: "1 to 63 lower-case letters, digits and hyphens (a-z 0-9 -), beginning with a letter or a digit"
    })
  ),
  Schema.brand("DeploymentName")
)
export type DeploymentName = typeof DeploymentName.Type

/**
 * `STARTED`: a release is served. `PENDING`: no release has been served yet. `ERRORED`: no release has been served yet,
 * and the last run failed.
 */
export const DeploymentState = Schema.Literals(["PENDING", "STARTED", "ERRORED"])

/** Why the last run failed. Empty if it succeeded or is still in progress. */
export const DeploymentMessage = Schema.Literals([
  "",
  "source-rejected",
  "build-failed",
  "check-failed",
  "publish-failed",
  "interrupted"
])
export type DeploymentMessage = typeof DeploymentMessage.Type

export const EnvironmentType = Schema.Literals(["PRODUCTION", "PREVIEW"])
export type EnvironmentType = typeof EnvironmentType.Type

/** A deployment: the site that is served for one branch of a project. */
export const Deployment = Schema.Struct({
  name: DeploymentName,
  url: Schema.String,
  /** The name of the branch. */
  label: Schema.String,
  /** The name of the deployment, as in the paths of the HTTP API. */
  urlParameter: Schema.String,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  /** `<account>::<project>::<branch>::<deployment>`, to find the deployment in logs. */
  loggingId: Schema.String,
  accountName: AccountName,
  projectName: ProjectName,
  state: DeploymentState,
  message: DeploymentMessage,
  branchName: BranchName,
  environmentType: EnvironmentType,
  /** Set after a rollback: new versions wait until one is promoted. */
  isPinned: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "Deployment" })
export type Deployment = typeof Deployment.Type
/** A deployment, as plain JSON. */
export type DeploymentJson = typeof Deployment.Encoded

/** A branch of a project. Each branch has at most one deployment. */
export const Branch = Schema.Struct({
  accountName: AccountName,
  projectName: ProjectName,
  branchName: BranchName
}).annotate({ identifier: "Branch" })
export type Branch = typeof Branch.Type

/** The identifier is the public name in the OpenAPI description. */
export const DeployResult = Schema.Struct({
  status: Schema.Literals(["request enqueued", "already in progress"])
}).annotate({ identifier: "DeployAnswer" })
export type DeployResult = typeof DeployResult.Type
