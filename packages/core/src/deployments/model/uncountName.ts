/**
 * Stops counting a name towards the account's limit when it has neither a deployment nor an upload in progress.
 *
 * The deployment and its name are in different partitions, so one commit cannot check both: the deployment is read
 * before the commit. An upload that creates the deployment in between holds a lease, which the commit checks, and it
 * changes the name's record when it ends.
 */
import { Effect, Option } from "effect"
import { addBytes, deploymentBytes } from "../../accounts/accountBytes.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Store } from "../../store/Store.ts"
import { StoreConflict } from "../../store/StoreError.ts"
import { deployments, type Project, projectPartition } from "./deploymentRecords.ts"
import { nameReservations, projects } from "./nameRecords.ts"
import { leasesByDeployment, uploadLeases } from "./uploadRecords.ts"

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
 * The changes that stop counting a name. Its record is kept if a deployment has used the name, and deleted otherwise.
 *
 * If a deployment exists, writes the record anyway (`isKept: true`). This changes its version, so a concurrent commit
 * that read it before the deployment existed fails as stale.
 */
export const planUncountName = Effect.fnUntraced(function* (
  name: string,
  /** Whether the caller knows that a deployment uses or has used the name, even if its record does not say so yet. */
  { hasBeenDeployed }: { readonly hasBeenDeployed: boolean }
) {
  const entry = yield* nameReservations.get(directory, name)
  if (Option.isNone(entry)) return { isUncounted: false, changes: [] }
  const { value } = entry.value
  if (Option.isSome(yield* deployments.get(projectPartition(value), name))) {
    const mustWrite = hasBeenDeployed || value.isKept !== true
    return {
      isUncounted: false,
      changes: mustWrite ? [nameReservations.replace(entry.value, { ...value, isKept: true })] : []
    }
  }
  if (value.isCounted !== true) return { isUncounted: false, changes: [] }
  const isKept = hasBeenDeployed || value.isKept === true
  const { accountName, bytes = 0 } = value
  const changes = isKept
    ? [nameReservations.replace(entry.value, { ...value, isCounted: false, isKept })]
    : [nameReservations.remove(entry.value), ...(bytes === 0 ? [] : [addBytes(deploymentBytes(accountName), -bytes)])]
  return { isUncounted: true, changes: [...changes, ...(yield* planProjectDecrement(value))] }
})

/** Whether a commit failed because an upload for the name is in progress. */
export const isUploadInProgress = (name: string) => (error: unknown) =>
  error instanceof StoreConflict &&
  error.reason === "too-many-records" &&
  error.subject === uploadLeases.indexTerm(leasesByDeployment(name))

const tryUncountName = (name: string) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const { changes } = yield* planUncountName(name, { hasBeenDeployed: true })
      if (changes.length === 0) return
      yield* store.commit(directory, [...changes, uploadLeases.assertAtMost(leasesByDeployment(name), 0)])
    })
  )

/**
 * Stops counting the name of a removed deployment. If an upload for the name is in progress, only writes `isKept`, and
 * the upload stops counting the name when it ends. An upload that read the record earlier fails as stale and reads it
 * again.
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
