/**
 * Counts the bytes of sources and releases that an account holds. Each name says how many of them are its own, and changes
 * in one commit with the account's counter. What a name holds is measured anew each time, so that a process which dies
 * before it has counted leaves a number that is too high at most, until the name is counted again.
 */
import { addBytes, type LimitReached, retryOnConflict, Store, StoreConflict } from "@tollgate/core/module"
import { Effect, Option, Stream } from "effect"
import { deploymentBytes } from "./deploymentBytes.ts"
import { limitReached } from "./deploymentLimits.ts"
import { byDeployment, deployments, projectPartition, versions } from "./deploymentRecords.ts"
import { endDeadUploads } from "./endUpload.ts"
import { byAccount, type NameReservation, nameReservations } from "./nameRecords.ts"
import { deploymentDirectory } from "./partitions.ts"
import { leasesByAccount } from "./uploadRecords.ts"

const directory = deploymentDirectory
const pageSize = 100

/** The sources of all versions, the releases that are kept, the one that is served and the one that is being made. */
const measure = Effect.fnUntraced(function* (reservation: NameReservation) {
  const partition = projectPartition(reservation)
  const { entries } = yield* versions.page(partition, {
    where: [byDeployment(reservation.name)],
    offset: 0,
    limit: pageSize
  })
  const deployment = yield* deployments.get(partition, reservation.name)
  const { served, servedBytes = 0 } = Option.isSome(deployment) ? deployment.value.value : {}
  const isServedKept = entries.some(({ value }) => value.release !== undefined && value.release.id === served)
  const bytes = entries.reduce(
    (sum, { value: { source, sourceBytes, status, releaseBytes = 0, release } }) =>
      sum +
      (source === undefined ? 0 : sourceBytes) +
      (status === "IN_PROGRESS" ? releaseBytes : 0) +
      (release?.bytes ?? 0),
    isServedKept ? 0 : servedBytes
  )
  return { bytes, isRunning: entries.some(({ value }) => value.status === "IN_PROGRESS") }
})

interface Addition {
  /** Bytes that are on the disk, but not yet in a record. */
  readonly added: number
  /** The maximum of the account. */
  readonly max: number
}

interface CountOptions {
  readonly addition?: Addition
  /** Leaves a deployment as it is while a version runs, which may have bytes that are not yet in a record. */
  readonly skipRunning?: boolean
}

const count = (name: string, { addition, skipRunning = false }: CountOptions = {}) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const entry = yield* nameReservations.get(directory, name)
      if (Option.isNone(entry)) return
      const { value } = entry.value
      const measured = yield* measure(value)
      if (skipRunning && measured.isRunning) return
      const bytes = measured.bytes + (addition?.added ?? 0)
      const growth = bytes - value.bytes
      if (growth === 0) return
      yield* store.commit(directory, [
        nameReservations.replace(entry.value, { ...value, bytes }),
        addBytes(deploymentBytes(value.accountName), growth, addition?.max)
      ])
    })
  )

/** Counts what a deployment holds. */
export const countHeldBytes = (name: string) => count(name)

/** Counts all deployments of an account again, apart from those that receive or run a version now. */
export const recountHeldBytes = Effect.fnUntraced(function* (accountName: string) {
  yield* endDeadUploads(leasesByAccount(accountName))
  yield* nameReservations
    .stream(directory, { where: [byAccount(accountName)], pageSize })
    .pipe(
      Stream.runForEach(({ value: { name, uploads } }) =>
        uploads > 0 ? Effect.void : count(name, { skipRunning: true })
      )
    )
})

const isExceeded = (error: unknown) => error instanceof StoreConflict && error.reason === "counter-exceeded"

export const bytesLimitReached = (max: number): LimitReached => limitReached("deploymentBytesPerAccount", max)

/**
 * Counts what a deployment holds and will hold. If the account would have too much, counts all of it again, in case a process
 * died before it had counted, and tries once more.
 */
export const addHeldBytes = (accountName: string, name: string, addition: Addition) =>
  count(name, { addition }).pipe(
    Effect.catchIf(isExceeded, () => Effect.andThen(recountHeldBytes(accountName), count(name, { addition }))),
    Effect.catchIf(isExceeded, () => Effect.fail(bytesLimitReached(addition.max)))
  )
