/**
 * Ends uploads, of this process or of one that died.
 */
import { type Entry, Processes, Store } from "@tollgate/core/module"
import { Effect, Option } from "effect"
import { nameReservations } from "./nameRecords.ts"
import { deploymentDirectory } from "./partitions.ts"
import { planName } from "./planName.ts"
import { listAll, type UploadLease, uploadLeases, uploadUrls } from "./uploadRecords.ts"

const directory = deploymentDirectory

export interface UploadOutcome {
  /** Whether the upload created a version. The version shows it too, but it disappears with its deployment. */
  readonly isUsed: boolean
}

/** Removes the lease of an upload, marks a used URL, and updates the name, in one commit. */
export const endUpload = Effect.fnUntraced(function* (
  lease: UploadLease,
  /** The lease as it is stored. None if another process has ended the upload. */
  held: Option.Option<Entry<UploadLease>>,
  { isUsed }: UploadOutcome
) {
  if (Option.isNone(held) && !isUsed) return
  const store = yield* Store
  const url = isUsed ? yield* uploadUrls.get(directory, lease.id) : Option.none()
  const name = Option.getOrUndefined(yield* nameReservations.get(directory, lease.name))
  yield* store.commit(directory, [
    ...Option.toArray(held).map(uploadLeases.remove),
    ...Option.toArray(url).map((url) => uploadUrls.replace(url, { ...url.value, used: true })),
    ...(yield* planName(lease, name, { uploads: Option.isSome(held) ? -1 : 0, wasDeployed: isUsed }))
  ])
})

/** Ends the uploads of processes that died. Returns whether there were any. */
export const endDeadUploads = Effect.fnUntraced(function* (term?: string) {
  const { isAlive } = yield* Processes
  const leases = yield* listAll(uploadLeases, term)
  const dead = yield* Effect.filter(leases, ({ value }) => Effect.map(isAlive(value.holder), (isAlive) => !isAlive))
  for (const lease of dead) {
    // On a conflict another process has ended the upload.
    yield* Effect.catchTag(
      endUpload(lease.value, Option.some(lease), { isUsed: false }),
      "StoreConflict",
      () => Effect.void
    )
  }
  return dead.length > 0
})
