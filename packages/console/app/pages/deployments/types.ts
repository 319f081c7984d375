import type { DeploymentsMethods } from "@tollgate/deployments/client"
import type { DeploymentStatusJson } from "../../api/types.ts"

export type DeploymentVersionJson = Awaited<ReturnType<DeploymentsMethods["versions"]>>["data"][number]

export type RunStatus = DeploymentStatusJson["status"]

/** A branch of a project of an account. */
export interface BranchJson {
  readonly accountName: string
  readonly projectName: string
  readonly branchName: string
}
