/**
 * Stops a name from counting, once there is nothing to count.
 */
import { Effect, Option } from "effect"
import * as Contention from "../store/Contention.ts"
import * as Partition from "../store/Partition.ts"
import { type Change, Store } from "../store/Store.ts"
import { StoreConflict, type StoreFault } from "../store/StoreError.ts"
import { deployments, type Project, partitionOf } from "./deploymentRecords.ts"
import { names, ofProject, projects } from "./nameRecords.ts"
import { freeLapsedUploads, receivingFor, uploads } from "./uploadRecords.ts"

const directory = Partition.deploymentDirectory

const isUploadInProgress = (name: string) => (error: unknown) =>
  error instanceof StoreConflict && error.reason === "limit" && error.subject === uploads.termOf(receivingFor(name))

/** A change that is refused to whoever has read the name before now. */
export const touchName = (name: string) =>
  Effect.map(
    names.get(directory, name),
    (entry): ReadonlyArray<Change> => (Option.isSome(entry) ? [names.replace(entry.value, entry.value.value)] : [])
  )

const uncountProject = Effect.fnUntraced(function* (project: Project) {
  const known = yield* projects.get(directory, partitionOf(project))
  if (Option.isNone(known)) return []
  const { deployments, ...rest } = known.value.value
  return deployments > 1
    ? [projects.replace(known.value, { ...rest, deployments: deployments - 1 })]
    : [projects.remove(known.value)]
})

/**
 * Stops a name from counting if there is no deployment and no upload in progress for it; the name stays reserved. An upload
 * that ends changes the name's record, so that this is refused if one has made the deployment since it was looked for.
 */
export const releaseName = (name: string): Effect.Effect<void, StoreFault, Store> =>
  Contention.retryWhenStale(
    Effect.gen(function* () {
      const store = yield* Store
      const known = yield* names.get(directory, name)
      if (Option.isNone(known) || known.value.value.isCounted !== true) return
      const { value } = known.value
      if (Option.isSome(yield* deployments.get(partitionOf(value), name))) return
      yield* store.commit(directory, [
        names.replace(known.value, { ...value, isCounted: false }),
        ...(yield* uncountProject(value)),
        uploads.atMost(receivingFor(name), 0)
      ])
    })
  ).pipe(
    Effect.catchIf(isUploadInProgress(name), () =>
      Effect.gen(function* () {
        if (yield* freeLapsedUploads(receivingFor(name))) yield* releaseName(name)
      })
    )
  )

/**
 * Releases the names of a project whose deployments never came to be, because a process died during an upload. Tells
 * whether none is left.
 */
export const releaseAbandonedNames = Effect.fnUntraced(function* (project: Project) {
  const [limit, partition] = [1000, partitionOf(project)]
  const missing: Array<string> = []
  for (let offset = 0; ; offset += limit) {
    const { entries, total } = yield* names.page(directory, { where: [ofProject(project)], offset, limit })
    const store = yield* Store
    const found = yield* store.get(
      partition,
      entries.map(({ value }) => deployments.keyOf(value.name))
    )
    missing.push(...entries.filter((_, index) => found[index] === undefined).map(({ value }) => value.name))
    if (entries.length === 0 || offset + entries.length >= total) break
  }
  yield* Effect.forEach(missing, releaseName)
  return missing.length === 0
})
