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

/** Reads a page of the versions, newest first. The store lists the oldest first, so the offset is counted from the end. */
export const readNewestVersions = Effect.fnUntraced(function* (
  partition: Partition,
  name: string,
  { limit, offset }: PageRequest
) {
  const where = [byDeployment(name)]
  const { total } = yield* versions.page(partition, { where, offset: 0, limit: 0 })
  const end = Math.max(0, total - offset)
  const start = Math.max(0, end - limit)
  const { entries } = yield* versions.page(partition, { where, offset: start, limit: end - start })
  return { entries: entries.toReversed(), total }
})
