/**
 * A deployment: what is served for one branch of a project. A later upload for the branch is a new version of the same
 * deployment, at the same address.
 */
import { Schema } from "effect"
import { AccountName, BranchName, ProjectName, StoredBranchName } from "../../schema/Names.ts"
import { Timestamp } from "../../schema/Timestamp.ts"

/** Fit for a path and for a host name. */
export const DeploymentName = Schema.String.pipe(
  Schema.check(Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,62}$/u)),
  Schema.brand("DeploymentName")
)
export type DeploymentName = typeof DeploymentName.Type

/** `PENDING` was never yet served; `STARTED` is; `ERRORED` was never yet served, and its last run failed. */
export const DeploymentState = Schema.Literals(["PENDING", "STARTED", "ERRORED"])

/** How the last run ended: nothing, if it went well or has not ended. */
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

export const Deployment = Schema.Struct({
  name: DeploymentName,
  url: Schema.String,
  label: Schema.String,
  urlParameter: Schema.String,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  loggingId: Schema.String,
  accountName: AccountName,
  projectName: ProjectName,
  state: DeploymentState,
  message: DeploymentMessage,
  branchName: StoredBranchName,
  environmentType: EnvironmentType
}).annotate({ identifier: "Deployment" })
export type Deployment = typeof Deployment.Type

/** The branch of a project: what a deployment is made of. */
export const Branch = Schema.Struct({
  accountName: AccountName,
  projectName: ProjectName,
  branchName: BranchName
}).annotate({ identifier: "Branch" })
export type Branch = typeof Branch.Type

/** The same as it is stored, and shown. */
export const storedBranch = { ...Branch.fields, branchName: StoredBranchName }
