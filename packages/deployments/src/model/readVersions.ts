/**
 * Reads the versions of a deployment.
 */
import type { PageRequest, Partition } from "@tollgate/core/module"
import { Effect, Stream } from "effect"
import { byDeployment, versions, withRelease } from "./deploymentRecords.ts"

/** Reads all versions, oldest first. */
export const readAllVersions = (partition: Partition.Partition, name: string) =>
  Stream.runCollect(versions.stream(partition, { where: [byDeployment(name)], pageSize: 1000 }))

/** Reads a page of the versions, newest first. */
export const readNewestVersions = (partition: Partition.Partition, name: string, request: PageRequest) =>
  versions.page(partition, { where: [byDeployment(name)], descending: true, ...request })

/** How many versions that passed their check are kept. */
const maxKept = 10

/** Reads the last versions that passed their check, newest first. With the one that is served, these are kept. */
export const readKeptVersions = (partition: Partition.Partition, name: string) =>
  Effect.map(
    versions.page(partition, { where: [withRelease(name)], descending: true, offset: 0, limit: maxKept }),
    ({ entries }) => entries
  )
