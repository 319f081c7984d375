import { Partition } from "@tollgate/core/module"

/** The deployments of one project. */
export const forProject = (accountName: string, projectName: string): Partition.Partition =>
  Partition.make("deployments", accountName, projectName)

/** The directory of deployment names, which maps each name to its project. */
export const deploymentDirectory: Partition.Partition = Partition.make("deployments")
