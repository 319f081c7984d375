/**
 * Schedules the runs of versions. The process that receives an upload starts its run immediately; every process also
 * polls the store for queued runs and for runs whose process died. Any number of processes may share a store.
 */
import { Context, DateTime, Effect, Exit, FiberSet, Layer, Stream } from "effect"
import { Limits } from "../../accounts/limits/Limits.ts"
import * as Base62 from "../../crypto/Base62.ts"
import { runBestEffort } from "../../runtime/runBestEffort.ts"
import type { Entry } from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { Store } from "../../store/Store.ts"
import { instruments } from "../../telemetry/instruments.ts"
import { observeScoped, Telemetry } from "../../telemetry/Telemetry.ts"
import { DeploymentConfig, type DeploymentConfigShape } from "../config/DeploymentConfig.ts"
import {
  type ActiveProject,
  activeProjects,
  activeProjectTtl,
  inProgress,
  type Project,
  projectPartition,
  type Removal,
  removals,
  type Version,
  versions
} from "../model/deploymentRecords.ts"
import { endExpiredUploads } from "../model/endUpload.ts"
import { isReleaseInUse, isSourceInUse } from "../model/findDeployment.ts"
import { deleteExpiredUploadUrls } from "../model/uploadRecords.ts"
import { finishRemoval } from "./finishRemoval.ts"
import { makeLeaseWatch } from "./LeaseWatch.ts"
import { makeMeasureRun } from "./measureRun.ts"
import { makeRunQueue, type QueuedRun } from "./RunQueue.ts"
import { runVersion } from "./runVersion.ts"

/** How many versions one process runs concurrently. */
const concurrency = 4
/** How often a process polls the store for runs and interrupted removals. */
const pollInterval = "3 seconds"

const directory = Partition.deploymentDirectory

/** A run that this process may acquire. */
interface AvailableRun extends QueuedRun {
  /** When the run was queued or its lease was due to expire, in epoch milliseconds. */
  readonly since: number
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const config = yield* DeploymentConfig
  const fibers = yield* FiberSet.make()
  const queue = makeRunQueue(concurrency)
  const leaseWatch = makeLeaseWatch()
  /** The ids of the removals that this process is finishing. */
  const removing = new Set<string>()
  /** Identifies this process in the leases of runs. */
  const holder = yield* Base62.random(22)
  const withStore = Effect.provideService(Store, store)
  const withLimits = Effect.provideService(Limits, yield* Limits)
  const measure = makeMeasureRun(yield* Telemetry)
  yield* observeScoped(instruments.deploymentQueue, queue.countQueued)
  yield* observeScoped(instruments.deploymentsRunning, queue.countRunning)

  /** Starts queued runs while slots are free. Each finished run starts the next. */
  const startQueued = (config: DeploymentConfigShape): Effect.Effect<void> =>
    Effect.suspend(() => {
      const next = queue.next()
      if (next === undefined) return Effect.void
      const { id } = next
      const run = Effect.onExit(
        runBestEffort(`The run of ${id}`, measure(withLimits(runVersion(config, next, holder)))),
        (exit) => {
          queue.finish(id)
          return Exit.isSuccess(exit) ? startQueued(config) : Effect.void
        }
      )
      return Effect.andThen(FiberSet.run(fibers, withStore(run)), startQueued(config))
    })

  /** Finishes an interrupted removal in its own fiber, so that a hanging target does not block the scan. */
  const resumeRemoval = (config: DeploymentConfigShape, project: Project, removal: Entry<Removal>) =>
    Effect.suspend(() => {
      const { id, name } = removal.value
      if (removing.has(id)) return Effect.void
      removing.add(id)
      return FiberSet.run(
        fibers,
        runBestEffort(`Removing the files of ${name}`, finishRemoval(config, project, removal)).pipe(
          Effect.ensuring(Effect.sync(() => removing.delete(id))),
          withStore
        )
      )
    })

  /** Returns the run of a version if this process may acquire it: it has no holder, or its lease has expired. */
  const toAvailableRun = Effect.fnUntraced(function* (
    project: Project,
    { value, version: recordVersion }: Entry<Version>
  ) {
    const isHeld = value.run?.holder !== undefined
    if (isHeld && !(yield* leaseWatch.isExpired(value.id, recordVersion))) return []
    const since = DateTime.toEpochMillis(value.run?.until ?? value.createdOn)
    const run: AvailableRun = { project, id: value.id, since, expiredRecordVersion: isHeld ? recordVersion : undefined }
    return [run]
  })

  /** Reads a project's available runs and interrupted removals in one round trip. Resumes the removals. */
  const scanProject = Effect.fnUntraced(function* (config: DeploymentConfigShape, project: Project) {
    const page = { offset: 0, limit: 100 }
    const [inProgressPage, removalPage] = yield* store.list(projectPartition(project), [
      { indexTerms: [versions.indexTerm(inProgress)], ...page },
      { indexTerms: [removals.indexTerm()], ...page }
    ])
    const entries = yield* Effect.forEach(inProgressPage?.records ?? [], versions.decode)
    for (const record of removalPage?.records ?? [])
      yield* resumeRemoval(config, project, yield* removals.decode(record))
    const runs: ReadonlyArray<ReadonlyArray<AvailableRun>> = yield* Effect.forEach(entries, (entry) =>
      toAvailableRun(project, entry)
    )
    return { runs: runs.flat(), isIdle: inProgressPage?.total === 0 && removalPage?.total === 0 }
  })

  /** Scans all active projects, replaces the queue with the available runs, and starts them. */
  const scan = Effect.fnUntraced(function* (config: DeploymentConfigShape) {
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const available: Array<AvailableRun> = []
    leaseWatch.startScan()
    const scanEntry = Effect.fnUntraced(
      function* (entry: Entry<ActiveProject>) {
        const { runs, isIdle } = yield* scanProject(config, entry.value)
        available.push(...runs)
        const isExpired = isIdle && now - DateTime.toEpochMillis(entry.value.since) >= activeProjectTtl
        if (isExpired) yield* store.commit(directory, [activeProjects.remove(entry)])
      },
      Effect.catchCause((cause) => Effect.logDebug("Scanning a project for runs failed", cause))
    )
    const active = activeProjects.stream(directory, { pageSize: 1000 })
    yield* Stream.runDrain(Stream.mapEffect(active, scanEntry, { concurrency: 8 }))
    queue.replace(available.sort((left, right) => left.since - right.since))
    yield* startQueued(config)
  })

  /** Treats an artifact as in use when the store cannot be read, so that a sweep never deletes it. */
  const treatErrorAsInUse =
    <E>(isInUse: (id: string) => Effect.Effect<boolean, E, Store>) =>
    (id: string) =>
      isInUse(id).pipe(
        withStore,
        Effect.catchCause(() => Effect.succeed(true))
      )

  const sweep = ({ sources, target }: DeploymentConfigShape) =>
    Effect.all(
      [
        runBestEffort("Deleting expired upload URLs", deleteExpiredUploadUrls()),
        runBestEffort("Ending uploads of processes that died", endExpiredUploads()),
        runBestEffort("Sweeping sources", sources.sweep?.(treatErrorAsInUse(isSourceInUse)) ?? Effect.void),
        runBestEffort("Sweeping releases", target.sweep?.(treatErrorAsInUse(isReleaseInUse)) ?? Effect.void)
      ],
      { discard: true }
    )

  if (config !== undefined) {
    yield* scan(config).pipe(
      Effect.catchCause((cause) => Effect.logDebug("Scanning for runs failed", cause)),
      Effect.andThen(Effect.sleep(pollInterval)),
      Effect.forever,
      withStore,
      Effect.forkScoped
    )
    yield* sweep(config).pipe(Effect.andThen(Effect.sleep("1 hour")), Effect.forever, withStore, Effect.forkScoped)
  }

  return DeploymentScheduler.of({
    schedule: (project, id) =>
      Effect.suspend(() => {
        if (config === undefined) return Effect.void
        queue.add({ project, id })
        return startQueued(config)
      })
  })
})

export class DeploymentScheduler extends Context.Service<
  DeploymentScheduler,
  {
    /** Queues a run. Starts it immediately if this process has a free slot; otherwise it waits in the queue for one. */
    readonly schedule: (project: Project, id: string) => Effect.Effect<void>
  }
>()("@tollgate/core/deployments/runner/DeploymentScheduler") {
  static readonly layer = Layer.effect(DeploymentScheduler, make)
}
