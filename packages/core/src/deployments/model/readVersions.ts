/**
 * Reads the versions of a deployment.
 */
import { Stream } from "effect"
import type { PageRequest } from "../../schema/Page.ts"
import type { Partition } from "../../store/Partition.ts"
import { byDeployment, versions } from "./deploymentRecords.ts"

/** Reads all versions, oldest first. */
export const readAllVersions = (partition: Partition, name: string) =>
  Stream.runCollect(versions.stream(partition, { where: [byDeployment(name)], pageSize: 1000 }))

/** Reads a page of the versions, newest first. */
export const readNewestVersions = (partition: Partition, name: string, request: PageRequest) =>
  versions.page(partition, { where: [byDeployment(name)], descending: true, ...request })
