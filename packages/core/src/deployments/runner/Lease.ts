/**
 * Who may run a version: a lease in the version itself, so that every write of a run proves that it still holds it.
 */
import { Data, DateTime, Effect, Option, Schedule } from "effect"
import type { Partition } from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { type Change, Store } from "../../store/Store.ts"
import type { StoreError } from "../../store/StoreError.ts"
import { type DeploymentRecord, deployments, type Version, versions } from "../model/deploymentRecords.ts"
import * as Transitions from "../model/versionTransitions.ts"

/** How long a holder may be silent before another takes the run over. */
export const duration = { seconds: 10 }
/** Seconds after which a holder renews its lease. */
export const renewal = 3

/** The run is somebody else's now, or nobody's. */
export class LeaseLost extends Data.TaggedError("LeaseLost") {}

export interface Lease {
  readonly partition: Partition
  readonly holder: string
  /** The version as it was taken. */
  readonly version: Version
}

/** A store that is away for a moment does not end a run; one that is away for longer loses it. */
const retryTransient = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, {
    while: (error) => error._tag === "StoreUnavailable",
    schedule: Schedule.spaced("500 millis"),
    times: 12
  })

/**
 * Takes a run that nobody holds, from its start; none if it is held. A run whose lease has lapsed is taken over if its
 * record is still at the version that was seen to lapse.
 */
export const acquire = (partition: Partition, id: string, holder: string, lapsedVersion?: number) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const now = yield* DateTime.now
      const found = yield* versions.get(partition, id)
      if (Option.isNone(found) || found.value.value.status !== "IN_PROGRESS") return Option.none()
      const { run, attempt, buildResult } = found.value.value
      const isTakenOver = run?.holder !== undefined
      if (isTakenOver && found.value.version !== lapsedVersion) return Option.none()
      const version: Version = {
        ...Transitions.restart(found.value.value, now),
        attempt: attempt + 1,
        run: { holder, until: DateTime.add(now, duration), lapses: (run?.lapses ?? 0) + (isTakenOver ? 1 : 0) }
      }
      const log = [...buildResult.log, ...(isTakenOver ? ["Taken over from a process that went silent"] : [])]
      const taken = { ...version, buildResult: { ...version.buildResult, log } }
      yield* store.commit(partition, [versions.replace(found.value, taken)])
      return Option.some<Lease>({ partition, holder, version: taken })
    })
  )

const isHeldBy = ({ version: { attempt }, holder }: Lease, current: Version): boolean =>
  current.status === "IN_PROGRESS" && current.attempt === attempt && current.run?.holder === holder

const now = DateTime.now

/** Writes how the run fares, and renews the lease. */
export const update = (
  lease: Lease,
  change: (version: Version, now: DateTime.Utc) => Version
): Effect.Effect<Version, LeaseLost | StoreError, Store> =>
  versions
    .modify(lease.partition, lease.version.id, (current) =>
      Effect.flatMap(now, (now) =>
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
 * Ends the run and changes the deployment, in one step that is refused to whoever does not hold it. Gives the deployment
 * as it was before.
 */
export const complete = (
  lease: Lease,
  change: (version: Version, now: DateTime.Utc) => Version,
  deploymentTo: (deployment: DeploymentRecord, now: DateTime.Utc) => DeploymentRecord
): Effect.Effect<DeploymentRecord | undefined, LeaseLost | StoreError, Store> =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const { partition, version } = lease
      const moment = yield* now
      const current = yield* versions.get(partition, version.id)
      const deployment = yield* deployments.get(partition, version.deployment)
      if (Option.isNone(current) || Option.isNone(deployment)) return yield* new LeaseLost()
      const next = change(version, moment)
      const { value } = current.value
      // An earlier try was applied, and its answer lost.
      if (value.attempt === version.attempt && value.status === next.status) return undefined
      if (!isHeldBy(lease, value) || deployment.value.value.latest !== version.id) return yield* new LeaseLost()
      const changes: ReadonlyArray<Change> = [
        versions.replace(current.value, change(value, moment)),
        deployments.replace(deployment.value, deploymentTo(deployment.value.value, moment))
      ]
      yield* store.commit(partition, changes)
      return deployment.value.value
    })
  ).pipe(retryTransient)

/** Gives the run back, so that another can begin it at once. */
export const release = (lease: Lease): Effect.Effect<void, never, Store> =>
  versions
    .modify(lease.partition, lease.version.id, (current) =>
      isHeldBy(lease, current)
        ? Effect.map(now, (until) => ({ ...current, run: { until, lapses: current.run?.lapses ?? 0 } }))
        : Effect.fail(new LeaseLost())
    )
    .pipe(Effect.timeout("2 seconds"), Effect.ignore)
