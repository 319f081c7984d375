/**
 * Lets one request at a time send to an upload's address, over all processes: it holds a lease in the upload's record.
 * An upload that fails gives the address back at once; one whose process dies gives it back when the lease lapses.
 */
import { DateTime, Effect, Exit, Option } from "effect"
import { KeyVault } from "../keys/KeyVault.ts"
import * as Base62 from "../shared/Base62.ts"
import { Limits } from "../shared/Limits.ts"
import * as Contention from "../store/Contention.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { StoreConflict } from "../store/StoreError.ts"
import { attempted } from "./attempted.ts"
import type { DeploymentName } from "./Deployment.ts"
import { AlreadyUploaded, UploadForbidden, UploadInProgress } from "./DeploymentError.ts"
import { announce, partitionOf, versions } from "./deploymentRecords.ts"
import { releaseName, touchName } from "./releaseName.ts"
import { explainLimit, isNamedMeanwhile, reserveName } from "./reserveName.ts"
import { freeLapsedUploads, isReceiving, receivingIn, type Upload, uploads, withoutLease } from "./uploadRecords.ts"

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
  const { hashName } = yield* KeyVault
  const limits = yield* Limits
  const process = yield* Base62.random(22)
  /** What this process receives now. A lease of its own for anything else was left by an upload that has ended. */
  const receivingHere = new Set<string>()

  const isTaken = (upload: Upload, now: DateTime.Utc): boolean =>
    isReceiving(upload, now) && upload.receiving?.holder.startsWith(process) !== true

  const take = Effect.fnUntraced(function* (id: string, holder: string) {
    const now = yield* DateTime.now
    const entry = yield* uploads.get(directory, id)
    if (Option.isNone(entry)) return yield* new UploadForbidden()
    const upload = entry.value.value
    const isUsed = upload.used || Option.isSome(yield* versions.get(partitionOf(upload), id))
    if (isUsed) return yield* new AlreadyUploaded()
    if (isTaken(upload, now)) return yield* new UploadInProgress()
    const { name, changes } = yield* reserveName(upload, limits, hashName)
    const receiving = { holder, until: DateTime.add(now, duration), name }
    const isCounted = upload.receiving !== undefined
    const others = limits.concurrentUploadsPerAccount - 1
    yield* store.commit(directory, [
      uploads.replace(entry.value, { ...upload, receiving }),
      ...changes,
      ...(isCounted ? [] : [uploads.atMost(receivingIn(upload.accountName), others)])
    ])
    return { upload, holder, name }
  })

  /** Takes the lease. Uploads of the account that a process left when it died are freed if they are in the way. */
  const acquire = Effect.fnUntraced(function* (upload: Upload) {
    const { id, accountName } = upload
    if (receivingHere.has(id)) return yield* new UploadInProgress()
    receivingHere.add(id)
    const holder = `${process}.${yield* Base62.random(8)}`
    const attempt = Contention.retryWhenStale(take(id, holder), isNamedMeanwhile)
    const isFull = (error: unknown) =>
      error instanceof StoreConflict && error.subject === uploads.termOf(receivingIn(accountName))
    return yield* Effect.andThen(announce(upload), attempt).pipe(
      Effect.catchIf(isFull, (error) =>
        Effect.flatMap(freeLapsedUploads(receivingIn(accountName)), (isFreed) =>
          isFreed ? attempt : Effect.fail(error)
        )
      ),
      Effect.catchTag("StoreConflict", (error) => Effect.fail(explainLimit(limits, accountName)(error))),
      Effect.tapCause(() => Effect.sync(() => receivingHere.delete(id)))
    )
  })

  const isHeld = ({ holder }: UploadLease, { receiving }: Upload): boolean => receiving?.holder === holder

  const renew = Effect.fnUntraced(function* (lease: UploadLease) {
    const renewed = yield* uploads.modify(directory, lease.upload.id, (current) =>
      Effect.gen(function* () {
        if (!isHeld(lease, current)) return yield* new UploadInProgress()
        const until = DateTime.add(yield* DateTime.now, duration)
        return { ...current, receiving: { holder: lease.holder, name: lease.name, until } }
      })
    )
    if (Option.isNone(renewed)) return yield* new UploadInProgress()
  })

  /** Renews until the lease is lost. A store that is away for a moment is asked again. */
  const keep = (lease: UploadLease): Effect.Effect<never, UploadInProgress, Store> =>
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
    Contention.retryWhenStale(
      Effect.gen(function* () {
        const { upload, name } = lease
        const entry = yield* uploads.get(directory, upload.id)
        const held = Option.filter(entry, ({ value }) => isHeld(lease, value))
        // A lease that lapsed did not keep the name from being released.
        const changes = Option.isSome(held)
          ? yield* touchName(name)
          : (yield* reserveName(upload, limits, hashName)).changes
        const used = Option.map(entry, (known) => uploads.replace(known, { ...withoutLease(known.value), used: true }))
        yield* store.commit(directory, [...Option.toArray(used), ...changes])
      })
    ).pipe(
      // The deployment may have been removed already, while the lease kept its name from being released.
      Effect.andThen(releaseName(lease.name)),
      Effect.retry({ times: 3 }),
      Effect.ignore
    )

  const abandon = (lease: UploadLease) =>
    Contention.retryWhenStale(
      Effect.gen(function* () {
        const entry = yield* uploads.get(directory, lease.upload.id)
        if (Option.isSome(entry) && isHeld(lease, entry.value.value)) {
          yield* store.commit(directory, [uploads.replace(entry.value, withoutLease(entry.value.value))])
        }
        yield* releaseName(lease.name)
      })
    )

  /** Runs what receives an upload, while nobody else can. */
  const withLease = <A, E, R>(upload: Upload, receive: (lease: UploadLease) => Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      acquire(upload),
      (lease) => Effect.raceFirst(receive(lease), keep(lease)),
      (lease, exit) => {
        receivingHere.delete(upload.id)
        return Exit.isSuccess(exit) ? Effect.void : attempted("Giving an upload address back", abandon(lease))
      }
    )

  return { withLease, renew, finish }
})
