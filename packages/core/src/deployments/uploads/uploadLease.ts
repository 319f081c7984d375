/**
 * Leases that allow one upload per URL at a time, across all processes. A failed upload releases its lease immediately;
 * the lease of a process that died expires.
 */
import { DateTime, Effect, Exit, Option } from "effect"
import { Accounts } from "../../accounts/Accounts.ts"
import { LimitReached } from "../../accounts/limits/LimitReached.ts"
import { Limits } from "../../accounts/limits/Limits.ts"
import * as Base62 from "../../crypto/Base62.ts"
import { SecretBox } from "../../crypto/SecretBox.ts"
import { runBestEffort } from "../../runtime/runBestEffort.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Store } from "../../store/Store.ts"
import { StoreConflict } from "../../store/StoreError.ts"
import { AlreadyUploaded, UploadForbidden, UploadInProgress } from "../model/DeploymentError.ts"
import { projectPartition, versions } from "../model/deploymentRecords.ts"
import { endExpiredUploads, endUpload, type UploadOutcome } from "../model/endUpload.ts"
import { byAccount, findOrMakeName, nameReservations, projects } from "../model/nameRecords.ts"
import { planName } from "../model/planName.ts"
import {
  isPast,
  leasesByAccount,
  type UploadLease,
  type UploadUrl,
  uploadLeases,
  uploadUrls
} from "../model/uploadRecords.ts"

const duration = { seconds: 30 }
const renewalInterval = "10 seconds"

const directory = Partition.deploymentDirectory

const isConflict = (reason: StoreConflict["reason"]) => (error: unknown) =>
  error instanceof StoreConflict && error.reason === reason

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

  const isHeldElsewhere = ({ holder, until }: UploadLease, now: DateTime.Utc): boolean =>
    !holder.startsWith(processId) && !isPast(until, now)

  const tryAcquire = Effect.fnUntraced(function* (
    { id, accountName, projectName, branchName }: UploadUrl,
    holder: string
  ) {
    const now = yield* DateTime.now
    const url = yield* uploadUrls.get(directory, id)
    if (Option.isNone(url)) return yield* new UploadForbidden()
    const branch = { accountName, projectName, branchName }
    const isUsed = url.value.value.used || Option.isSome(yield* versions.get(projectPartition(branch), id))
    if (isUsed) return yield* new AlreadyUploaded()
    const existing = yield* uploadLeases.get(directory, id)
    if (Option.exists(existing, ({ value }) => isHeldElsewhere(value, now))) return yield* new UploadInProgress()
    const { name, entry } = yield* findOrMakeName(branch, hashName)
    const lease: UploadLease = { ...branch, name, id, holder, until: DateTime.add(now, duration) }
    yield* store.commit(directory, [
      uploadUrls.assertUnchanged(url.value),
      ...(Option.isSome(existing)
        ? [uploadLeases.replace(existing.value, lease)]
        : [
            uploadLeases.insert(lease),
            uploadLeases.assertAtMost(leasesByAccount(accountName), limits.concurrentUploadsPerAccount - 1),
            ...(yield* planName(lease, entry, { uploads: 1, limits }))
          ])
    ])
    return lease
  })

  const toLimitError = (error: StoreConflict, accountName: string) => {
    const limit = (
      {
        [projects.indexTerm(byAccount(accountName))]: "projectsPerAccount",
        [nameReservations.indexTerm(byAccount(accountName))]: "deploymentsPerAccount",
        [uploadLeases.indexTerm(leasesByAccount(accountName))]: "concurrentUploadsPerAccount"
      } as const
    )[error.subject]
    return limit === undefined ? error : new LimitReached({ limit, max: limits[limit] })
  }

  /** Acquires the lease. If a limit is reached, ends the account's uploads whose process died, and tries once more. */
  const acquire = Effect.fnUntraced(function* (upload: UploadUrl) {
    const { id, accountName } = upload
    if (inProgress.has(id)) return yield* new UploadInProgress()
    inProgress.add(id)
    const holder = `${processId}.${yield* Base62.random(8)}`
    // First, since the lease reserves a name, and with it lists the project.
    const attempt = Effect.andThen(
      accounts.ensureListed(accountName),
      // Another process may name the branch concurrently.
      retryOnConflict(tryAcquire(upload, holder), isConflict("unique-key"))
    )
    return yield* attempt.pipe(
      Effect.catchIf(isConflict("too-many-records"), (error) =>
        Effect.flatMap(endExpiredUploads(leasesByAccount(accountName)), (isFreed) =>
          isFreed ? attempt : Effect.fail(error)
        )
      ),
      Effect.catchTag("StoreConflict", (error) => Effect.fail(toLimitError(error, accountName))),
      Effect.tapCause(() => Effect.sync(() => inProgress.delete(id)))
    )
  })

  /** Reads the lease from the store. Returns none if it expired and another process replaced or removed it. */
  const findHeldLease = ({ id, holder }: UploadLease) =>
    Effect.map(
      uploadLeases.get(directory, id),
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

  const end = (lease: UploadLease, outcome: UploadOutcome) =>
    retryOnConflict(Effect.flatMap(findHeldLease(lease), (held) => endUpload(lease, held, outcome)))

  /** Ends an upload that created its version. Ignores errors after 3 retries: the lease expires by itself. */
  const finish = (lease: UploadLease) => end(lease, { isUsed: true }).pipe(Effect.retry({ times: 3 }), Effect.ignore)

  /** Runs `receive` while holding the lease of the upload. */
  const withLease = <A, E, R>(upload: UploadUrl, receive: (lease: UploadLease) => Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(acquire(upload), receive, (lease, exit) => {
      inProgress.delete(upload.id)
      return Exit.isSuccess(exit)
        ? Effect.void
        : runBestEffort("Releasing an upload lease", end(lease, { isUsed: false }))
    })

  /** Renews the lease while the effect runs. Interrupts the effect and fails if the lease is lost. */
  const withRenewal = <A, E, R>(lease: UploadLease, effect: Effect.Effect<A, E, R>) =>
    Effect.raceFirst(effect, renewUntilLost(lease))

  return { withLease, withRenewal, renew, finish }
})
