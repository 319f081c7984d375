/**
 * Leases that allow one upload per URL at a time, across all processes. A failed upload releases its lease immediately;
 * that of a process that died is free.
 */
import {
  Accounts,
  Base62,
  Limits,
  Processes,
  retryOnConflict,
  runBestEffort,
  SecretBox,
  Store,
  StoreConflict
} from "@tollgate/core/module"
import { Effect, Exit, Option } from "effect"
import { AlreadyUploaded, UploadForbidden, UploadInProgress } from "../model/DeploymentError.ts"
import { limitReached } from "../model/deploymentLimits.ts"
import { projectPartition, versions } from "../model/deploymentRecords.ts"
import { endDeadUploads, endUpload, type UploadOutcome } from "../model/endUpload.ts"
import { byAccount, findOrMakeName, nameReservations, projects } from "../model/nameRecords.ts"
import { deploymentDirectory } from "../model/partitions.ts"
import { planName } from "../model/planName.ts"
import { leasesByAccount, type UploadLease, type UploadUrl, uploadLeases, uploadUrls } from "../model/uploadRecords.ts"

const directory = deploymentDirectory

const isConflict = (reason: StoreConflict["reason"]) => (error: unknown) =>
  error instanceof StoreConflict && error.reason === reason

export const makeUploadLeases = Effect.gen(function* () {
  const store = yield* Store
  const accounts = yield* Accounts
  const { hashName } = yield* SecretBox
  const limits = yield* Limits
  const processes = yield* Processes
  /**
   * The uploads in progress in this process. A lease of this process for an upload that is not in this set was not
   * removed after a failure; the process may replace it.
   */
  const inProgress = new Set<string>()

  const tryAcquire = Effect.fnUntraced(function* (
    { id, accountName, projectName, branchName }: UploadUrl,
    attempt: string
  ) {
    const holder = yield* processes.join
    const url = yield* uploadUrls.get(directory, id)
    if (Option.isNone(url)) return yield* new UploadForbidden()
    const branch = { accountName, projectName, branchName }
    const isUsed = url.value.value.used || Option.isSome(yield* versions.get(projectPartition(branch), id))
    if (isUsed) return yield* new AlreadyUploaded()
    const existing = yield* uploadLeases.get(directory, id)
    const other =
      Option.isSome(existing) && existing.value.value.holder !== holder ? existing.value.value.holder : undefined
    if (other !== undefined && (yield* processes.isAlive(other))) return yield* new UploadInProgress()
    const { name, entry } = yield* findOrMakeName(branch, hashName)
    const lease: UploadLease = { ...branch, name, id, holder, attempt }
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
    return limit === undefined ? error : limitReached(limit, limits[limit])
  }

  /** Acquires the lease. If a limit is reached, ends the account's uploads whose process died, and tries once more. */
  const acquire = Effect.fnUntraced(function* (upload: UploadUrl) {
    const { id, accountName } = upload
    if (inProgress.has(id)) return yield* new UploadInProgress()
    inProgress.add(id)
    const attemptId = yield* Base62.random(8)
    // First, since the lease reserves a name, and with it lists the project.
    const attempt = Effect.andThen(
      accounts.ensureListed(accountName),
      // Another process may name the branch concurrently.
      retryOnConflict(tryAcquire(upload, attemptId), isConflict("unique-key"))
    )
    return yield* attempt.pipe(
      Effect.catchIf(isConflict("too-many-records"), (error) =>
        Effect.flatMap(endDeadUploads(leasesByAccount(accountName)), (isFreed) =>
          isFreed ? attempt : Effect.fail(error)
        )
      ),
      Effect.catchTag("StoreConflict", (error) => Effect.fail(toLimitError(error, accountName))),
      Effect.tapCause(() => Effect.sync(() => inProgress.delete(id)))
    )
  })

  /** Reads the lease from the store. Returns none if another process has replaced or removed it. */
  const findHeldLease = ({ id, attempt }: UploadLease) =>
    Effect.map(
      uploadLeases.get(directory, id),
      Option.filter(({ value }) => value.attempt === attempt)
    )

  /** Fails if another process has taken this one for dead, and has the lease. */
  const check = (lease: UploadLease) =>
    Effect.flatMap(findHeldLease(lease), (held) => (Option.isNone(held) ? new UploadInProgress() : Effect.void))

  const end = (lease: UploadLease, outcome: UploadOutcome) =>
    retryOnConflict(Effect.flatMap(findHeldLease(lease), (held) => endUpload(lease, held, outcome)))

  /** Ends an upload that created its version. Ignores errors after 3 retries: the URL expires by itself. */
  const finish = (lease: UploadLease) => end(lease, { isUsed: true }).pipe(Effect.retry({ times: 3 }), Effect.ignore)

  /** Runs `receive` while holding the lease of the upload. */
  const withLease = <A, E, R>(upload: UploadUrl, receive: (lease: UploadLease) => Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(acquire(upload), receive, (lease, exit) => {
      inProgress.delete(upload.id)
      return Exit.isSuccess(exit)
        ? Effect.void
        : runBestEffort("Releasing an upload lease", Effect.retry(end(lease, { isUsed: false }), { times: 3 }))
    })

  /** Interrupts the effect and fails if this process was taken for dead, and with that has lost the lease. */
  const whileHeld = <A, E, R>({ holder }: UploadLease, effect: Effect.Effect<A, E, R>) =>
    Effect.raceFirst(effect, Effect.andThen(processes.awaitLost(holder), new UploadInProgress()))

  return { withLease, whileHeld, check, finish }
})
