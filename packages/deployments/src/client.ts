/**
 * `@tollgate/deployments/client`: deployments for `createClient`.
 */

export type { DeploymentJson } from "./model/Deployment.ts"
export * from "./model/DeploymentError.ts"
export type { DeploymentLogJson, LogLine } from "./model/DeploymentLog.ts"
export type { DeploymentStatusJson } from "./model/DeploymentStatus.ts"
export type { DeploymentsOfAccount, ProjectHandle, UploadedSource } from "./module/deploymentHandles.ts"
export { deploymentsClient } from "./module/deploymentsDeclaration.ts"
export type { FollowLogOptions } from "./module/followLog.ts"
export type { DeploymentsMethods } from "./services/DeploymentsApi.ts"
export type { ProjectsMethods } from "./services/ProjectsApi.ts"
