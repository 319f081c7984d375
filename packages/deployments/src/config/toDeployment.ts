import type { Deployment } from "../model/Deployment.ts"
import type { DeploymentRecord } from "../model/deploymentRecords.ts"
import { type DeploymentConfigShape, deploymentUrl } from "./DeploymentConfig.ts"

/** Converts a stored deployment for callers. */
export const toDeployment = (config: DeploymentConfigShape, record: DeploymentRecord): Deployment => {
  const { name, accountName, projectName, branchName, createdOn, updatedOn, message, served, isPinned } = record
  return {
    name,
    url: deploymentUrl(config, name),
    label: branchName,
    urlParameter: name,
    createdOn,
    updatedOn,
    loggingId: [accountName, projectName, branchName, name].join("::"),
    accountName,
    projectName,
    state: served !== undefined ? "STARTED" : message === "" ? "PENDING" : "ERRORED",
    message,
    branchName,
    environmentType: branchName === config.productionBranch ? "PRODUCTION" : "PREVIEW",
    ...(isPinned === undefined ? {} : { isPinned })
  }
}
