/**
 * Stops counting a name towards the account's limit when it has neither a deployment nor an upload in progress.
 *
 * The deployment and its name are in different partitions, so one commit cannot check both: the deployment is read
 * before the commit. An upload that creates the deployment in between holds a lease, which the commit checks, and it
 * changes the name's record when it ends.
 */
import { Effect, Option } from "effect"
import type { Entry } from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { type Change, Store } from "../../store/Store.ts"
import { StoreConflict } from "../../store/StoreError.ts"
import { deployments, type Project, projectPartition } from "./deploymentRecords.ts"
import { nameReservations, projects } from "./nameRecords.ts"
import { findExpiredLeases, leasesByDeployment, type UploadLeaseRecord, uploadLeases } from "./uploadRecords.ts"

const directory = Partition.deploymentDirectory

const planProjectDecrement = Effect.fnUntraced(function* (project: Project) {
  const entry = yield* projects.get(directory, projectPartition(project))
  if (Option.isNone(entry)) return []
  const { deployments, ...rest } = entry.value.value
  return deployments > 1
    ? [projects.replace(entry.value, { ...rest, deployments: deployments - 1 })]
    : [projects.remove(entry.value)]
})

/**
 * The changes that release a name: it stays reserved if a deployment has used it, and is deleted otherwise. If there is
 * a deployment, the record is written all the same, so that concurrent commits that did not see the deployment
 * conflict.
 */
const planUncountName = Effect.fnUntraced(function* (
  name: string,
  { hadDeployment }: { readonly hadDeployment: boolean }
) {
  const entry = yield* nameReservations.get(directory, name)
  if (Option.isNone(entry)) return { isReleased: false, changes: [] }
  const { value } = entry.value
  if (Option.isSome(yield* deployments.get(projectPartition(value), name))) {
    const mustWrite = hadDeployment || value.isKept !== true
    return {
      isReleased: false,
      changes: mustWrite ? [nameReservations.replace(entry.value, { ...value, isKept: true })] : []
    }
  }
  if (value.isCounted !== true) return { isReleased: false, changes: [] }
  const isKept = hadDeployment || value.isKept === true
  const change = isKept
    ? nameReservations.replace(entry.value, { ...value, isCounted: false, isKept })
    : nameReservations.remove(entry.value)
  return { isReleased: true, changes: [change, ...(yield* planProjectDecrement(value))] }
})

const isUploadInProgress = (name: string) => (error: unknown) =>
  error instanceof StoreConflict &&
  error.reason === "too-many-records" &&
  error.subject === uploadLeases.indexTerm(leasesByDeployment(name))

const tryUncountName = (name: string) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const { changes } = yield* planUncountName(name, { hadDeployment: true })
      if (changes.length === 0) return
      yield* store.commit(directory, [...changes, uploadLeases.assertAtMost(leasesByDeployment(name), 0)])
    })
  )

/**
 * Releases the name of a removed deployment. If an upload for the name is in progress, it releases the name when it
 * ends: `isKept` is written first, so an upload that read the record earlier conflicts and reads it again.
 */
export const uncountName = Effect.fnUntraced(function* (name: string) {
  const ignoreUploadInProgress = Effect.catchIf(isUploadInProgress(name), () => Effect.void)
  yield* tryUncountName(name).pipe(
    Effect.catchIf(isUploadInProgress(name), () =>
      Effect.andThen(
        nameReservations.modify(directory, name, (value) => Effect.succeed({ ...value, isKept: true })),
        ignoreUploadInProgress(tryUncountName(name))
      )
    )
  )
})

/** Removes an upload's lease, and releases the name if no other upload for it is in progress. */
const endLease = Effect.fnUntraced(function* (
  lease: Entry<UploadLeaseRecord>,
  { hadDeployment, extraChanges }: { readonly hadDeployment: boolean; readonly extraChanges: ReadonlyArray<Change> }
) {
  const store = yield* Store
  const { name } = lease.value
  const { isReleased, changes } = yield* planUncountName(name, { hadDeployment })
  const end = [uploadLeases.remove(lease), ...extraChanges]
  // If another upload for the name is in progress, that upload releases the name.
  const assertLastUpload = isReleased ? [uploadLeases.assertAtMost(leasesByDeployment(name), 1)] : []
  yield* store
    .commit(directory, [...end, ...changes, ...assertLastUpload])
    .pipe(Effect.catchIf(isUploadInProgress(name), () => store.commit(directory, end)))
})

/** Ends an upload that created its version. Commits `extraChanges` atomically with it. */
export const finishLease = (lease: Entry<UploadLeaseRecord>, extraChanges: ReadonlyArray<Change>) =>
  endLease(lease, { hadDeployment: true, extraChanges })

/** Ends an upload that did not create a version. */
export const abandonLease = (lease: Entry<UploadLeaseRecord>) =>
  endLease(lease, { hadDeployment: false, extraChanges: [] })

/** Ends the uploads of processes that died. Returns whether there were any. */
export const endExpiredLeases = Effect.fnUntraced(function* (term?: string) {
  const expired = yield* findExpiredLeases(term)
  // On a conflict the lease was renewed, or another process has ended it.
  const end = (lease: Entry<UploadLeaseRecord>) =>
    Effect.catchTag(abandonLease(lease), "StoreConflict", () => Effect.void)
  yield* Effect.forEach(expired, end, { discard: true })
  return expired.length > 0
})
