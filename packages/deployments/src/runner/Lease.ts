/**
 * The lease of the process that runs a version, while it lives. It is stored in the version record, so every write of a run
 * checks that the process still holds the lease.
 */
import { asSystem, type Change, type Partition, retryOnConflict, Store, type StoreError } from "@tollgate/core/module"
import { Data, DateTime, Effect, Option, Schedule } from "effect"
import { type DeploymentRecord, deployments, type Version, versions } from "../model/deploymentRecords.ts"
import { noteLeftovers } from "../model/leftovers.ts"
import * as Transitions from "../model/versionTransitions.ts"

/** Another process holds the run, or the run has ended. */
export class LeaseLost extends Data.TaggedError("LeaseLost") {}

export interface Lease {
  readonly partition: Partition.Partition
  readonly holder: string
  /** The version when the lease was acquired. */
  readonly version: Version
}

/** Retries for about 6 seconds, so that a short outage of the store does not end the run. */
export const retryTransient = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, {
    while: (error) => error._tag === "StoreUnavailable",
    schedule: Schedule.spaced("500 millis"),
    times: 12
  })

/**
 * Acquires a run and restarts it from its first step. Returns none if another process holds it. A run whose process has
 * died is taken over only if its record is still at `deadRecordVersion`.
 */
export const acquire = (partition: Partition.Partition, id: string, holder: string, deadRecordVersion?: number) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const now = yield* DateTime.now
      const entry = yield* versions.get(partition, id)
      if (Option.isNone(entry) || entry.value.value.status !== "IN_PROGRESS") return Option.none()
      const { run, attempt, buildResult, logStart = 0 } = entry.value.value
      const isTakeover = run?.holder !== undefined
      if (isTakeover && entry.value.version !== deadRecordVersion) return Option.none()
      const version: Version = {
        ...Transitions.restart(entry.value.value, now),
        attempt: attempt + 1,
        run: { holder, since: now, lapses: (run?.lapses ?? 0) + (isTakeover ? 1 : 0) }
      }
      const log = [...buildResult.log, ...(isTakeover ? ["Taken over from a process that stopped responding"] : [])]
      const acquired = { ...version, buildResult: { ...version.buildResult, log }, logStart }
      yield* store.commit(partition, [versions.replace(entry.value, acquired)])
      return Option.some<Lease>({ partition, holder, version: acquired })
    })
  )

const isHeldBy = ({ version: { attempt }, holder }: Lease, current: Version): boolean =>
  current.status === "IN_PROGRESS" && current.attempt === attempt && current.run?.holder === holder

/** Fails unless this process still holds the lease. */
export const check = (lease: Lease): Effect.Effect<void, LeaseLost | StoreError, Store> =>
  Effect.flatMap(versions.get(lease.partition, lease.version.id), (entry) =>
    Option.isSome(entry) && isHeldBy(lease, entry.value.value) ? Effect.void : Effect.fail(new LeaseLost())
  )

/** Writes the progress of the run. */
export const update = (
  lease: Lease,
  change: (version: Version, now: DateTime.Utc) => Version
): Effect.Effect<Version, LeaseLost | StoreError, Store> =>
  versions
    .modify(lease.partition, lease.version.id, (current) =>
      Effect.flatMap(DateTime.now, (now) =>
        isHeldBy(lease, current) ? Effect.succeed(change(current, now)) : Effect.fail(new LeaseLost())
      )
    )
    .pipe(
      retryTransient,
      Effect.flatMap((entry) =>
        Option.isSome(entry) ? Effect.succeed(entry.value.value) : Effect.fail(new LeaseLost())
      )
    )

/**
 * Ends the run, updates the deployment and records the outcome atomically. Fails with `LeaseLost` if this process no longer
 * holds the lease.
 */
export const complete = (
  lease: Lease,
  change: (version: Version, now: DateTime.Utc, deployment: DeploymentRecord) => Version,
  updateDeployment: (deployment: DeploymentRecord, now: DateTime.Utc, version: Version) => DeploymentRecord,
  recordOutcome: (deployment: DeploymentRecord) => Effect.Effect<Change>,
  /** The releases that may not be needed any more. */
  findLeftovers: (deployment: DeploymentRecord) => ReadonlyArray<string | undefined>
): Effect.Effect<void, LeaseLost | StoreError, Store> =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const { partition, version } = lease
      const now = yield* DateTime.now
      const current = yield* versions.get(partition, version.id)
      const deployment = yield* deployments.get(partition, version.deployment)
      if (Option.isNone(current) || Option.isNone(deployment)) return yield* new LeaseLost()
      const next = change(version, now, deployment.value.value)
      const { value } = current.value
      // A previous try of this commit was applied, but the store's reply was lost.
      if (value.attempt === version.attempt && value.status === next.status) return
      if (!isHeldBy(lease, value) || deployment.value.value.latest !== version.id) return yield* new LeaseLost()
      const ended = change(value, now, deployment.value.value)
      const updated = updateDeployment(deployment.value.value, now, ended)
      yield* store.commit(partition, [
        versions.replace(current.value, ended),
        deployments.replace(deployment.value, updated),
        yield* asSystem(recordOutcome(updated)),
        yield* noteLeftovers(partition, version.deployment, findLeftovers(deployment.value.value))
      ])
    })
  ).pipe(retryTransient)

/** Releases the run, so that another process can start it immediately. */
export const release = (lease: Lease): Effect.Effect<void, never, Store> =>
  versions
    .modify(lease.partition, lease.version.id, (current) =>
      isHeldBy(lease, current)
        ? Effect.map(DateTime.now, (since) => ({ ...current, run: { since, lapses: current.run?.lapses ?? 0 } }))
        : Effect.fail(new LeaseLost())
    )
    .pipe(Effect.timeout("2 seconds"), Effect.ignore)
