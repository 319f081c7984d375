/**
 * Ends an upload: removes its lease, and stops counting the deployment's name if nothing else uses it.
 */
import { Effect } from "effect"
import type { Entry } from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { type Change, Store } from "../../store/Store.ts"
import { isUploadInProgress, planUncountName } from "./uncountName.ts"
import { findExpiredLeases, leasesByDeployment, type UploadLeaseRecord, uploadLeases } from "./uploadRecords.ts"

const directory = Partition.deploymentDirectory

/** Removes an upload's lease, and stops counting the name if it has no deployment and no other upload. */
const endLease = Effect.fnUntraced(function* (
  lease: Entry<UploadLeaseRecord>,
  { hasBeenDeployed, extraChanges }: { readonly hasBeenDeployed: boolean; readonly extraChanges: ReadonlyArray<Change> }
) {
  const store = yield* Store
  const { name } = lease.value
  const { isUncounted, changes } = yield* planUncountName(name, { hasBeenDeployed })
  const end = [uploadLeases.remove(lease), ...extraChanges]
  // If another upload for the name is in progress, it stops counting the name when it ends.
  const assertLastUpload = isUncounted ? [uploadLeases.assertAtMost(leasesByDeployment(name), 1)] : []
  yield* store
    .commit(directory, [...end, ...changes, ...assertLastUpload])
    .pipe(Effect.catchIf(isUploadInProgress(name), () => store.commit(directory, end)))
})

/** Ends an upload that created its version. Commits `extraChanges` atomically with it. */
export const finishLease = (lease: Entry<UploadLeaseRecord>, extraChanges: ReadonlyArray<Change>) =>
  endLease(lease, { hasBeenDeployed: true, extraChanges })

/** Ends an upload that did not create a version. */
export const abandonLease = (lease: Entry<UploadLeaseRecord>) =>
  endLease(lease, { hasBeenDeployed: false, extraChanges: [] })

/** Ends the uploads of processes that died. Returns whether there were any. */
export const endExpiredLeases = Effect.fnUntraced(function* (term?: string) {
  const expired = yield* findExpiredLeases(term)
  // On a conflict the lease was renewed, or another process has ended it.
  const end = (lease: Entry<UploadLeaseRecord>) =>
    Effect.catchTag(abandonLease(lease), "StoreConflict", () => Effect.void)
  yield* Effect.forEach(expired, end, { discard: true })
  return expired.length > 0
})
