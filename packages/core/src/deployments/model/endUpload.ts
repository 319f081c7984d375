/**
 * Ends uploads, of this process or of one that died.
 */
import { DateTime, Effect, Option } from "effect"
import type { Entry } from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { Store } from "../../store/Store.ts"
import { nameReservations } from "./nameRecords.ts"
import { planName } from "./planName.ts"
import { isPast, listAll, type UploadLease, uploadLeases, uploadUrls } from "./uploadRecords.ts"

const directory = Partition.deploymentDirectory

export interface UploadOutcome {
  /** Whether the upload created a version. The version shows it too, but it disappears with its deployment. */
  readonly isUsed: boolean
}

/** Removes the lease of an upload, marks a used URL, and updates the name, in one commit. */
export const endUpload = Effect.fnUntraced(function* (
  lease: UploadLease,
  /** The lease as it is stored. None if it has expired and another process has ended the upload. */
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

/** Ends the uploads of processes that died, which did not renew their leases. Returns whether there were any. */
export const endExpiredUploads = Effect.fnUntraced(function* (term?: string) {
  const now = yield* DateTime.now
  const expired = (yield* listAll(uploadLeases, term)).filter(({ value }) => isPast(value.until, now))
  for (const lease of expired) {
    // On a conflict the lease was renewed, or another process has ended the upload.
    yield* Effect.catchTag(
      endUpload(lease.value, Option.some(lease), { isUsed: false }),
      "StoreConflict",
      () => Effect.void
    )
  }
  return expired.length > 0
})
