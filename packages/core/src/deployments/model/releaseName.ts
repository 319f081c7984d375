/**
 * Stops a name from counting, once there is neither a deployment nor an upload in progress for it.
 *
 * The deployment stands in another partition than its name, so it is looked for before the commit. An upload that makes
 * the deployment meanwhile holds a lease, which the commit checks, and changes the name's record when it ends.
 */
import { Effect, Option } from "effect"
import type { Entry } from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { type Change, Store } from "../../store/Store.ts"
import { StoreConflict } from "../../store/StoreError.ts"
import { deployments, type Project, partitionOf } from "./deploymentRecords.ts"
import { nameReservations, projects } from "./nameRecords.ts"
import { findExpiredLeases, leasesOfDeployment, type UploadLeaseRecord, uploadLeases } from "./uploadRecords.ts"

const directory = Partition.deploymentDirectory

const uncountProject = Effect.fnUntraced(function* (project: Project) {
  const known = yield* projects.get(directory, partitionOf(project))
  if (Option.isNone(known)) return []
  const { deployments, ...rest } = known.value.value
  return deployments > 1
    ? [projects.replace(known.value, { ...rest, deployments: deployments - 1 })]
    : [projects.remove(known.value)]
})

/**
 * What becomes of a name: it is kept if a deployment has had it, and forgotten otherwise. Where there is a deployment, the
 * record is written all the same, so that it is stale for whoever looked for the deployment before.
 */
const planNameRelease = Effect.fnUntraced(function* (
  name: string,
  { hadDeployment }: { readonly hadDeployment: boolean }
) {
  const known = yield* nameReservations.get(directory, name)
  if (Option.isNone(known)) return { isReleased: false, changes: [] }
  const { value } = known.value
  if (Option.isSome(yield* deployments.get(partitionOf(value), name))) {
    const isTouched = hadDeployment || value.isKept !== true
    return {
      isReleased: false,
      changes: isTouched ? [nameReservations.replace(known.value, { ...value, isKept: true })] : []
    }
  }
  if (value.isCounted !== true) return { isReleased: false, changes: [] }
  const isKept = hadDeployment || value.isKept === true
  const change = isKept
    ? nameReservations.replace(known.value, { ...value, isCounted: false, isKept })
    : nameReservations.remove(known.value)
  return { isReleased: true, changes: [change, ...(yield* uncountProject(value))] }
})

const isUploadInProgress = (name: string) => (error: unknown) =>
  error instanceof StoreConflict &&
  error.reason === "limit" &&
  error.subject === uploadLeases.indexTerm(leasesOfDeployment(name))

const tryReleaseName = (name: string) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const { changes } = yield* planNameRelease(name, { hadDeployment: true })
      if (changes.length === 0) return
      yield* store.commit(directory, [...changes, uploadLeases.assertAtMost(leasesOfDeployment(name), 0)])
    })
  )

/**
 * Releases the name of a deployment that is gone. If an upload for it is in progress, its end will: once the record was
 * written, no upload can end that has looked for the deployment before.
 */
export const releaseName = Effect.fnUntraced(function* (name: string) {
  const leaveToUpload = Effect.catchIf(isUploadInProgress(name), () => Effect.void)
  yield* tryReleaseName(name).pipe(
    Effect.catchIf(isUploadInProgress(name), () =>
      Effect.andThen(
        nameReservations.modify(directory, name, (value) => Effect.succeed({ ...value, isKept: true })),
        leaveToUpload(tryReleaseName(name))
      )
    )
  )
})

/** Ends an upload, and releases its name if it was the last for it. */
const endLease = Effect.fnUntraced(function* (
  lease: Entry<UploadLeaseRecord>,
  { hadDeployment, more }: { readonly hadDeployment: boolean; readonly more: ReadonlyArray<Change> }
) {
  const store = yield* Store
  const { name } = lease.value
  const { isReleased, changes } = yield* planNameRelease(name, { hadDeployment })
  const end = [uploadLeases.remove(lease), ...more]
  // Another upload for the name goes on, and releases it.
  const isLast = isReleased ? [uploadLeases.assertAtMost(leasesOfDeployment(name), 1)] : []
  yield* store
    .commit(directory, [...end, ...changes, ...isLast])
    .pipe(Effect.catchIf(isUploadInProgress(name), () => store.commit(directory, end)))
})

/** Ends an upload that has made its version; `more` is committed with it. */
export const finishLease = (lease: Entry<UploadLeaseRecord>, more: ReadonlyArray<Change>) =>
  endLease(lease, { hadDeployment: true, more })

/** Ends an upload that has made nothing. */
export const abandonLease = (lease: Entry<UploadLeaseRecord>) => endLease(lease, { hadDeployment: false, more: [] })

/** Ends the uploads whose process died. Tells whether there were any. */
export const endExpiredLeases = Effect.fnUntraced(function* (term?: string) {
  const lapsed = yield* findExpiredLeases(term)
  // One that has changed meanwhile is not lapsed, or another process has ended it.
  const end = (lease: Entry<UploadLeaseRecord>) =>
    Effect.catchTag(abandonLease(lease), "StoreConflict", () => Effect.void)
  yield* Effect.forEach(lapsed, end, { discard: true })
  return lapsed.length > 0
})
