/**
 * `@tollgate/deployments`: deployments as a module of `createTollgate`, what targets implement, services, schemas and errors.
 */

export type { DeploymentOptions } from "./config/DeploymentConfig.ts"
export { Branch, Deployment, type DeploymentJson, DeploymentName, DeployResult } from "./model/Deployment.ts"
export * from "./model/DeploymentError.ts"
export { DeploymentLog, type DeploymentLogJson, type LogLine } from "./model/DeploymentLog.ts"
export { BuildResult, DeploymentStatus, type DeploymentStatusJson, StatusId } from "./model/DeploymentStatus.ts"
export { BranchName, ProjectName } from "./model/names.ts"
export type { DeploymentsOfAccount, ProjectHandle, UploadedSource } from "./module/deploymentHandles.ts"
export { type DeploymentServices, type DeploymentsModule, deployments } from "./module/deploymentsModule.ts"
export type { FollowLogOptions } from "./module/followLog.ts"
export {
  type DeploymentTarget,
  memoryTarget,
  type PromiseRelease,
  type PromiseTarget,
  type Release,
  StepFailed,
  targetFromPromises,
  type UnpackedSource
} from "./ports/DeploymentTarget.ts"
export { memorySourceStore, type SourceStore } from "./ports/SourceStore.ts"
export { Deployments } from "./services/Deployments.ts"
export type { DeploymentsMethods } from "./services/DeploymentsApi.ts"
export { Projects } from "./services/Projects.ts"
export type { ProjectsMethods } from "./services/ProjectsApi.ts"
export type { SourceContent } from "./uploads/sourceStream.ts"
export { type SignedUploadUrl, Uploads } from "./uploads/Uploads.ts"
