/**
 * Reads the versions of a deployment.
 */
import { Effect } from "effect"
import type { PageRequest } from "../../schema/Page.ts"
import type { Entry } from "../../store/Collection.ts"
import type { Partition } from "../../store/Partition.ts"
import { byDeployment, type Version, versions } from "./deploymentRecords.ts"

/** Reads all versions, oldest first. */
export const readAllVersions = Effect.fnUntraced(function* (partition: Partition, name: string) {
  const all: Array<Entry<Version>> = []
  for (;;) {
    const page = { where: [byDeployment(name)], offset: all.length, limit: 1000 }
    const { entries, total } = yield* versions.page(partition, page)
    all.push(...entries)
    if (entries.length === 0 || all.length >= total) return all
  }
})

/** Reads a page of the versions, newest first. */
export const readNewestVersions = (partition: Partition, name: string, { limit, offset }: PageRequest) =>
  versions.page(partition, { where: [byDeployment(name)], offset, limit, descending: true })
