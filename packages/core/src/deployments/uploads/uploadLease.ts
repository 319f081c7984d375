/**
 * Lets one request at a time send to an upload's address, over all processes: it holds a lease in the store.
 * An upload that fails gives the address back at once; one whose process dies gives it back when the lease lapses.
 */
import { DateTime, Effect, Exit, Option } from "effect"
import * as Base62 from "../../crypto/Base62.ts"
import { SecretBox } from "../../crypto/SecretBox.ts"
import { Limits } from "../../runtime/Limits.ts"
import { logFailure } from "../../runtime/logFailure.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Store } from "../../store/Store.ts"
import { StoreConflict } from "../../store/StoreError.ts"
import type { DeploymentName } from "../model/Deployment.ts"
import { AlreadyUploaded, UploadForbidden, UploadInProgress } from "../model/DeploymentError.ts"
import { partitionOf, versions } from "../model/deploymentRecords.ts"
import { abandonLease, endExpiredLeases, finishLease } from "../model/releaseName.ts"
import { isNameConflict, reserveName, toLimitError } from "../model/reserveName.ts"
import {
  isPast,
  leasesOfAccount,
  type Upload,
  type UploadLeaseRecord,
  uploadLeases,
  uploads
} from "../model/uploadRecords.ts"

const duration = { seconds: 30 }
const renewal = "10 seconds"

const directory = Partition.deploymentDirectory

export interface UploadLease {
  readonly upload: Upload
  readonly holder: string
  /** The name of the deployment that the upload is for. */
  readonly name: DeploymentName
}

export const makeUploadLeases = Effect.gen(function* () {
  const store = yield* Store
  const { hashName } = yield* SecretBox
  const limits = yield* Limits
  const process = yield* Base62.random(22)
  /** What this process receives now. A lease of its own for anything else was left by an upload that has ended. */
  const inProgress = new Set<string>()

  const isTaken = ({ holder, until }: UploadLeaseRecord, now: DateTime.Utc): boolean =>
    !holder.startsWith(process) && !isPast(until, now)

  const tryAcquire = Effect.fnUntraced(function* (id: string, holder: string) {
    const now = yield* DateTime.now
    const entry = yield* uploads.get(directory, id)
    if (Option.isNone(entry)) return yield* new UploadForbidden()
    const upload = entry.value.value
    const isUsed = upload.used || Option.isSome(yield* versions.get(partitionOf(upload), id))
    if (isUsed) return yield* new AlreadyUploaded()
    const earlier = yield* uploadLeases.get(directory, id)
    if (Option.exists(earlier, ({ value }) => isTaken(value, now))) return yield* new UploadInProgress()
    const { name, changes } = yield* reserveName(upload, limits, hashName)
    const { accountName } = upload
    const lease: UploadLeaseRecord = { id: upload.id, accountName, name, holder, until: DateTime.add(now, duration) }
    yield* store.commit(directory, [
      uploads.assertUnchanged(entry.value),
      ...(Option.isSome(earlier)
        ? [uploadLeases.replace(earlier.value, lease)]
        : [
            uploadLeases.insert(lease),
            uploadLeases.assertAtMost(leasesOfAccount(accountName), limits.concurrentUploadsPerAccount - 1)
          ]),
      ...changes
    ])
    return { upload, holder, name }
  })

  const isLimit = (error: unknown) => error instanceof StoreConflict && error.reason === "limit"

  /** Takes the lease. What processes of this account left when they died is ended if it is in the way. */
  const acquire = Effect.fnUntraced(function* ({ id, accountName }: Upload) {
    if (inProgress.has(id)) return yield* new UploadInProgress()
    inProgress.add(id)
    const holder = `${process}.${yield* Base62.random(8)}`
    const attempt = retryOnConflict(tryAcquire(id, holder), isNameConflict)
    return yield* attempt.pipe(
      Effect.catchIf(isLimit, (error) =>
        Effect.flatMap(endExpiredLeases(leasesOfAccount(accountName)), (isFreed) =>
          isFreed ? attempt : Effect.fail(error)
        )
      ),
      Effect.catchTag("StoreConflict", (error) => Effect.fail(toLimitError(limits, accountName)(error))),
      Effect.tapCause(() => Effect.sync(() => inProgress.delete(id)))
    )
  })

  /** The lease as it is stored; none if it lapsed and is another's now, or nobody's. */
  const findHeld = ({ upload, holder }: UploadLease) =>
    Effect.map(
      uploadLeases.get(directory, upload.id),
      Option.filter(({ value }) => value.holder === holder)
    )

  const renew = (lease: UploadLease) =>
    retryOnConflict(
      Effect.gen(function* () {
        const held = yield* findHeld(lease)
        if (Option.isNone(held)) return yield* new UploadInProgress()
        const until = DateTime.add(yield* DateTime.now, duration)
        yield* store.commit(directory, [uploadLeases.replace(held.value, { ...held.value.value, until })])
      })
    )

  /** Renews until the lease is lost. A store that is away for a moment is asked again. */
  const renewUntilLost = (lease: UploadLease): Effect.Effect<never, UploadInProgress, Store> =>
    Effect.sleep(renewal).pipe(
      Effect.andThen(renew(lease)),
      Effect.catchIf(
        (error) => !(error instanceof UploadInProgress),
        () => Effect.void
      ),
      Effect.forever
    )

  /** Marks the address as used. The version says the same while there is a deployment; this stays when it is gone. */
  const finish = (lease: UploadLease) =>
    retryOnConflict(
      Effect.gen(function* () {
        const entry = yield* uploads.get(directory, lease.upload.id)
        const used = Option.toArray(
          Option.map(entry, (known) => uploads.replace(known, { ...known.value, used: true }))
        )
        const held = yield* findHeld(lease)
        if (Option.isSome(held)) return yield* finishLease(held.value, used)
        // A lease that lapsed did not keep the name from being released.
        const { changes } = yield* reserveName(lease.upload, limits, hashName)
        yield* store.commit(directory, [...used, ...changes])
      })
    ).pipe(Effect.retry({ times: 3 }), Effect.ignore)

  const abandon = (lease: UploadLease) =>
    retryOnConflict(
      Effect.flatMap(findHeld(lease), (held) => (Option.isSome(held) ? abandonLease(held.value) : Effect.void))
    )

  /** Runs what receives an upload, while nobody else can. */
  const withLease = <A, E, R>(upload: Upload, receive: (lease: UploadLease) => Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(acquire(upload), receive, (lease, exit) => {
      inProgress.delete(upload.id)
      return Exit.isSuccess(exit) ? Effect.void : logFailure("Giving an upload address back", abandon(lease))
    })

  /** Renews the lease while something runs, which fails if the lease is lost. */
  const withRenewal = <A, E, R>(lease: UploadLease, effect: Effect.Effect<A, E, R>) =>
    Effect.raceFirst(effect, renewUntilLost(lease))

  return { withLease, renewing: withRenewal, renew, finish }
})
