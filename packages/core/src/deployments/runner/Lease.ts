/**
 * The lease of the process that runs a version. It is stored in the version record, so every write of a run checks that
 * the process still holds the lease.
 */
import { Data, DateTime, Effect, Option, Schedule } from "effect"
import { asSystem } from "../../outbox/CurrentActor.ts"
import type { Partition } from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { type Change, Store } from "../../store/Store.ts"
import type { StoreError } from "../../store/StoreError.ts"
import { type DeploymentRecord, deployments, type Version, versions } from "../model/deploymentRecords.ts"
import * as Transitions from "../model/versionTransitions.ts"

/** How long a lease lasts without renewal. After that, another process takes the run over. */
export const duration = { seconds: 10 }
/** Seconds between two renewals. */
export const renewalInterval = 3

/** Another process holds the run, or the run has ended. */
export class LeaseLost extends Data.TaggedError("LeaseLost") {}

export interface Lease {
  readonly partition: Partition
  readonly holder: string
  /** The version when the lease was acquired. */
  readonly version: Version
}

/** Retries for about 6 seconds, so that a short outage of the store does not end the run. */
const retryTransient = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, {
    while: (error) => error._tag === "StoreUnavailable",
    schedule: Schedule.spaced("500 millis"),
    times: 12
  })

/**
 * Acquires a run and restarts it from its first step. Returns none if another process holds it. A run whose lease has
 * expired is taken over only if its record is still at `expiredRecordVersion`.
 */
export const acquire = (partition: Partition, id: string, holder: string, expiredRecordVersion?: number) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const now = yield* DateTime.now
      const entry = yield* versions.get(partition, id)
      if (Option.isNone(entry) || entry.value.value.status !== "IN_PROGRESS") return Option.none()
      const { run, attempt, buildResult } = entry.value.value
      const isTakeover = run?.holder !== undefined
      if (isTakeover && entry.value.version !== expiredRecordVersion) return Option.none()
      const version: Version = {
        ...Transitions.restart(entry.value.value, now),
        attempt: attempt + 1,
        run: { holder, until: DateTime.add(now, duration), lapses: (run?.lapses ?? 0) + (isTakeover ? 1 : 0) }
      }
      const log = [...buildResult.log, ...(isTakeover ? ["Taken over from a process that stopped responding"] : [])]
      const acquired = { ...version, buildResult: { ...version.buildResult, log } }
      yield* store.commit(partition, [versions.replace(entry.value, acquired)])
      return Option.some<Lease>({ partition, holder, version: acquired })
    })
  )

const isHeldBy = ({ version: { attempt }, holder }: Lease, current: Version): boolean =>
  current.status === "IN_PROGRESS" && current.attempt === attempt && current.run?.holder === holder

/** Writes the progress of the run and renews the lease. */
export const update = (
  lease: Lease,
  change: (version: Version, now: DateTime.Utc) => Version
): Effect.Effect<Version, LeaseLost | StoreError, Store> =>
  versions
    .modify(lease.partition, lease.version.id, (current) =>
      Effect.flatMap(DateTime.now, (now) =>
        isHeldBy(lease, current)
          ? Effect.succeed({
              ...change(current, now),
              run: { holder: lease.holder, until: DateTime.add(now, duration), lapses: current.run?.lapses ?? 0 }
            })
          : Effect.fail(new LeaseLost())
      )
    )
    .pipe(
      retryTransient,
      Effect.flatMap((entry) =>
        Option.isSome(entry) ? Effect.succeed(entry.value.value) : Effect.fail(new LeaseLost())
      )
    )

/**
 * Ends the run, updates the deployment and records the outcome atomically. Fails with `LeaseLost` if this process no longer holds the lease.
 * Returns the deployment before the update.
 */
export const complete = (
  lease: Lease,
  change: (version: Version, now: DateTime.Utc) => Version,
  updateDeployment: (deployment: DeploymentRecord, now: DateTime.Utc, version: Version) => DeploymentRecord,
  recordOutcome: (deployment: DeploymentRecord) => Effect.Effect<Change>
): Effect.Effect<DeploymentRecord | undefined, LeaseLost | StoreError, Store> =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const { partition, version } = lease
      const now = yield* DateTime.now
      const current = yield* versions.get(partition, version.id)
      const deployment = yield* deployments.get(partition, version.deployment)
      if (Option.isNone(current) || Option.isNone(deployment)) return yield* new LeaseLost()
      const next = change(version, now)
      const { value } = current.value
      // A previous try of this commit was applied, but the store's reply was lost.
      if (value.attempt === version.attempt && value.status === next.status) return undefined
      if (!isHeldBy(lease, value) || deployment.value.value.latest !== version.id) return yield* new LeaseLost()
      const ended = change(value, now)
      const updated = updateDeployment(deployment.value.value, now, ended)
      yield* store.commit(partition, [
        versions.replace(current.value, ended),
        deployments.replace(deployment.value, updated),
        yield* asSystem(recordOutcome(updated))
      ])
      return deployment.value.value
    })
  ).pipe(retryTransient)

/** Releases the run, so that another process can start it immediately. */
export const release = (lease: Lease): Effect.Effect<void, never, Store> =>
  versions
    .modify(lease.partition, lease.version.id, (current) =>
      isHeldBy(lease, current)
        ? Effect.map(DateTime.now, (until) => ({ ...current, run: { until, lapses: current.run?.lapses ?? 0 } }))
        : Effect.fail(new LeaseLost())
    )
    .pipe(Effect.timeout("2 seconds"), Effect.ignore)
