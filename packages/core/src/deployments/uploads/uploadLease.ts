/**
 * Leases that allow one upload per URL at a time, across all processes. A failed upload releases its lease immediately;
 * the lease of a process that died expires.
 */
import { DateTime, Effect, Exit, Option } from "effect"
import { Accounts } from "../../accounts/Accounts.ts"
import * as Base62 from "../../crypto/Base62.ts"
import { SecretBox } from "../../crypto/SecretBox.ts"
import { Limits } from "../../runtime/Limits.ts"
import { runBestEffort } from "../../runtime/runBestEffort.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Store } from "../../store/Store.ts"
import { StoreConflict } from "../../store/StoreError.ts"
import type { DeploymentName } from "../model/Deployment.ts"
import { AlreadyUploaded, UploadForbidden, UploadInProgress } from "../model/DeploymentError.ts"
import { projectPartition, versions } from "../model/deploymentRecords.ts"
import { abandonLease, endExpiredLeases, finishLease } from "../model/endUploadLease.ts"
import { isNameConflict, planNameReservation, toLimitError } from "../model/planNameReservation.ts"
import {
  isPast,
  leasesByAccount,
  type UploadLeaseRecord,
  type UploadUrl,
  uploadLeases,
  uploadUrls
} from "../model/uploadRecords.ts"

const duration = { seconds: 30 }
const renewalInterval = "10 seconds"

const directory = Partition.deploymentDirectory

export interface UploadLease {
  readonly upload: UploadUrl
  readonly holder: string
  /** The name of the deployment. */
  readonly name: DeploymentName
}

export const makeUploadLeases = Effect.gen(function* () {
  const store = yield* Store
  const accounts = yield* Accounts
  const { hashDeploymentName: hashName } = yield* SecretBox
  const limits = yield* Limits
  const processId = yield* Base62.random(22)
  /**
   * The uploads in progress in this process. A lease of this process for an upload that is not in this set was not
   * removed after a failure; the process may replace it.
   */
  const inProgress = new Set<string>()

  const isHeldElsewhere = ({ holder, until }: UploadLeaseRecord, now: DateTime.Utc): boolean =>
    !holder.startsWith(processId) && !isPast(until, now)

  const tryAcquire = Effect.fnUntraced(function* (id: string, holder: string) {
    const now = yield* DateTime.now
    const entry = yield* uploadUrls.get(directory, id)
    if (Option.isNone(entry)) return yield* new UploadForbidden()
    const upload = entry.value.value
    const isUsed = upload.used || Option.isSome(yield* versions.get(projectPartition(upload), id))
    if (isUsed) return yield* new AlreadyUploaded()
    const existing = yield* uploadLeases.get(directory, id)
    if (Option.exists(existing, ({ value }) => isHeldElsewhere(value, now))) return yield* new UploadInProgress()
    const { name, changes } = yield* planNameReservation(upload, limits, hashName)
    const { accountName } = upload
    const lease: UploadLeaseRecord = { id: upload.id, accountName, name, holder, until: DateTime.add(now, duration) }
    yield* store.commit(directory, [
      uploadUrls.assertUnchanged(entry.value),
      ...(Option.isSome(existing)
        ? [uploadLeases.replace(existing.value, lease)]
        : [
            uploadLeases.insert(lease),
            uploadLeases.assertAtMost(leasesByAccount(accountName), limits.concurrentUploadsPerAccount - 1)
          ]),
      ...changes
    ])
    return { upload, holder, name }
  })

  const isLimitConflict = (error: unknown) => error instanceof StoreConflict && error.reason === "too-many-records"

  /** Acquires the lease. If a limit is reached, ends the account's uploads whose process died, and tries once more. */
  const acquire = Effect.fnUntraced(function* ({ id, accountName }: UploadUrl) {
    if (inProgress.has(id)) return yield* new UploadInProgress()
    inProgress.add(id)
    const holder = `${processId}.${yield* Base62.random(8)}`
    // First, since the lease reserves a name, and with it lists the project.
    const attempt = Effect.andThen(
      accounts.ensureListed(accountName),
      retryOnConflict(tryAcquire(id, holder), isNameConflict)
    )
    return yield* attempt.pipe(
      Effect.catchIf(isLimitConflict, (error) =>
        Effect.flatMap(endExpiredLeases(leasesByAccount(accountName)), (isFreed) =>
          isFreed ? attempt : Effect.fail(error)
        )
      ),
      Effect.catchTag("StoreConflict", (error) => Effect.fail(toLimitError(limits, accountName)(error))),
      Effect.tapCause(() => Effect.sync(() => inProgress.delete(id)))
    )
  })

  /** Reads the lease from the store. Returns none if it expired and another process replaced or removed it. */
  const findHeldLease = ({ upload, holder }: UploadLease) =>
    Effect.map(
      uploadLeases.get(directory, upload.id),
      Option.filter(({ value }) => value.holder === holder)
    )

  const renew = (lease: UploadLease) =>
    retryOnConflict(
      Effect.gen(function* () {
        const held = yield* findHeldLease(lease)
        if (Option.isNone(held)) return yield* new UploadInProgress()
        const until = DateTime.add(yield* DateTime.now, duration)
        yield* store.commit(directory, [uploadLeases.replace(held.value, { ...held.value.value, until })])
      })
    )

  /** Renews the lease until it is lost. Ignores store errors, so the next interval retries. */
  const renewUntilLost = (lease: UploadLease): Effect.Effect<never, UploadInProgress, Store> =>
    Effect.sleep(renewalInterval).pipe(
      Effect.andThen(renew(lease)),
      Effect.catchIf(
        (error) => !(error instanceof UploadInProgress),
        () => Effect.void
      ),
      Effect.forever
    )

  /**
   * Marks the URL as used and removes the lease. An existing version also shows that the URL was used, but it
   * disappears with its deployment. Ignores errors after 3 retries: the version exists, and the lease expires by
   * itself.
   */
  const finish = (lease: UploadLease) =>
    retryOnConflict(
      Effect.gen(function* () {
        const entry = yield* uploadUrls.get(directory, lease.upload.id)
        const markUsed = Option.toArray(
          Option.map(entry, (upload) => uploadUrls.replace(upload, { ...upload.value, used: true }))
        )
        const held = yield* findHeldLease(lease)
        if (Option.isSome(held)) return yield* finishLease(held.value, markUsed)
        // The lease has expired, so the name may have been released. Reserve it again.
        const { changes } = yield* planNameReservation(lease.upload, limits, hashName)
        yield* store.commit(directory, [...markUsed, ...changes])
      })
    ).pipe(Effect.retry({ times: 3 }), Effect.ignore)

  const abandon = (lease: UploadLease) =>
    retryOnConflict(
      Effect.flatMap(findHeldLease(lease), (held) => (Option.isSome(held) ? abandonLease(held.value) : Effect.void))
    )

  /** Runs `receive` while holding the lease of the upload. */
  const withLease = <A, E, R>(upload: UploadUrl, receive: (lease: UploadLease) => Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(acquire(upload), receive, (lease, exit) => {
      inProgress.delete(upload.id)
      return Exit.isSuccess(exit) ? Effect.void : runBestEffort("Releasing an upload lease", abandon(lease))
    })

  /** Renews the lease while the effect runs. Interrupts the effect and fails if the lease is lost. */
  const withRenewal = <A, E, R>(lease: UploadLease, effect: Effect.Effect<A, E, R>) =>
    Effect.raceFirst(effect, renewUntilLost(lease))

  return { withLease, withRenewal, renew, finish }
})
