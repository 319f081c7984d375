/**
 * Schedules the runs of versions. The process that receives an upload starts its run immediately; jobs find the runs for
 * which it has no free slot, and those whose process died. Any number of processes may share a store.
 */
import {
  Background,
  DueWork,
  type Entry,
  HeldWork,
  Limits,
  observeScoped,
  type Partition,
  Processes,
  runBestEffort,
  SecretBox,
  Store,
  Telemetry
} from "@tollgate/core/module"
import { Context, DateTime, Effect, Exit, FiberSet, Layer } from "effect"
import { DeploymentConfig, type DeploymentConfigShape } from "../config/DeploymentConfig.ts"
import {
  deploymentsJob,
  getProject,
  inProgress,
  type Project,
  projectPartition,
  type Removal,
  removals,
  type Version,
  versions
} from "../model/deploymentRecords.ts"
import { endDeadUploads } from "../model/endUpload.ts"
import { isReleaseInUse, isSourceInUse } from "../model/findDeployment.ts"
import { leftovers } from "../model/leftovers.ts"
import { deleteExpiredUploadUrls, uploadsJob } from "../model/uploadRecords.ts"
import { deploymentInstruments } from "./deploymentInstruments.ts"
import { finishRemoval } from "./finishRemoval.ts"
import { makeMeasureRun } from "./measureRun.ts"
import { pruneVersions } from "./pruneVersions.ts"
import { makeRunQueue, type QueuedRun } from "./RunQueue.ts"
import { runVersion } from "./runVersion.ts"

/** How many versions one process runs concurrently. */
const concurrency = 4
/** How often a project with runs or removals is looked at. */
const scanInterval = { seconds: 3 }
/** How often expired upload URLs are deleted, at most. */
const uploadsInterval = { minutes: 10 }

/** A run that this process may acquire. */
interface AvailableRun extends QueuedRun {
  /** When the run was queued or started, in epoch milliseconds. */
  readonly since: number
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const config = yield* DeploymentConfig
  const fibers = yield* FiberSet.make()
  const queue = makeRunQueue(concurrency)
  /** The ids of the removals that this process is finishing, and the deployments that it prunes. */
  const removing = new Set<string>()
  const processes = yield* Processes
  const dueWork = yield* DueWork
  const hasBackground = yield* Background
  const withStore = Effect.provideService(Store, store)
  const withServices = Effect.provideContext(
    Context.make(Store, store).pipe(
      Context.add(Processes, processes),
      Context.add(DueWork, dueWork),
      Context.add(HeldWork, yield* HeldWork),
      Context.add(SecretBox, yield* SecretBox)
    )
  )
  const withLimits = Effect.provideService(Limits, yield* Limits)
  const measure = makeMeasureRun(yield* Telemetry)
  yield* observeScoped(deploymentInstruments.deploymentQueue, queue.countQueued)
  yield* observeScoped(deploymentInstruments.deploymentsRunning, queue.countRunning)

  /** Starts queued runs while slots are free. Each finished run starts the next. */
  const startQueued = (config: DeploymentConfigShape): Effect.Effect<void> =>
    Effect.suspend(() => {
      const next = queue.next()
      if (next === undefined) return Effect.void
      const { id } = next
      const run = Effect.onExit(
        runBestEffort(`The run of ${id}`, measure(withLimits(runVersion(config, next)))),
        (exit) => {
          queue.finish(id)
          return Exit.isSuccess(exit) ? startQueued(config) : Effect.void
        }
      )
      return Effect.andThen(FiberSet.run(fibers, withServices(run)), startQueued(config))
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

  /** Prunes a deployment in a fiber of its own, so that a hanging target blocks neither a caller nor the scan. */
  const prune = (config: DeploymentConfigShape, project: Project, name: string) =>
    Effect.suspend(() => {
      // What is noted meanwhile is found by the next scan.
      if (removing.has(name)) return Effect.void
      removing.add(name)
      return FiberSet.run(
        fibers,
        runBestEffort(`Pruning the versions of ${name}`, pruneVersions(config, projectPartition(project), name)).pipe(
          Effect.ensuring(Effect.sync(() => removing.delete(name))),
          withStore
        )
      )
    })

  /** Whether a process runs a version. This one may have failed to release it. */
  const isRun = (id: string, holder: string) =>
    holder === processes.getId() ? Effect.succeed(queue.isRunning(id)) : processes.isAlive(holder)

  /** Returns the run of a version if this process may acquire it: it has no holder, or its holder has died. */
  const toAvailableRun = Effect.fnUntraced(function* (
    project: Project,
    { value, version: recordVersion }: Entry<Version>
  ) {
    const holder = value.run?.holder
    if (holder !== undefined && (yield* isRun(value.id, holder))) return []
    const since = DateTime.toEpochMillis(value.run?.since ?? value.createdOn)
    const deadRecordVersion = holder === undefined ? undefined : recordVersion
    const run: AvailableRun = { project, id: value.id, since, deadRecordVersion }
    return [run]
  })

  /** Queues the available runs of a project, and removes what is left to remove. Returns whether it has any. */
  const scanProject = Effect.fnUntraced(function* (config: DeploymentConfigShape, project: Project) {
    const page = { offset: 0, limit: 100 }
    const [inProgressPage, removalPage, leftoversPage] = yield* store.list(projectPartition(project), [
      { indexTerms: [versions.indexTerm(inProgress)], ...page },
      { indexTerms: [removals.indexTerm()], ...page },
      { indexTerms: [leftovers.indexTerm()], ...page }
    ])
    const entries = yield* Effect.forEach(inProgressPage?.records ?? [], versions.decode)
    for (const record of removalPage?.records ?? [])
      yield* resumeRemoval(config, project, yield* removals.decode(record))
    for (const record of leftoversPage?.records ?? [])
      yield* prune(config, project, (yield* leftovers.decode(record)).value.name)
    const runs: ReadonlyArray<ReadonlyArray<AvailableRun>> = yield* Effect.forEach(entries, (entry) =>
      toAvailableRun(project, entry)
    )
    for (const run of runs.flat().sort((left, right) => left.since - right.since)) queue.add(run)
    yield* startQueued(config)
    return [inProgressPage, removalPage, leftoversPage].some((page) => page?.total !== 0)
  })

  /** While a project has runs, removals or leftovers, any process may have to go on with them. */
  const runProjectJob = Effect.fnUntraced(function* (config: DeploymentConfigShape, partition: Partition.Partition) {
    const isBusy = yield* scanProject(config, getProject(partition))
    return isBusy ? DateTime.add(yield* DateTime.now, scanInterval) : undefined
  })

  const runUploadsJob = Effect.gen(function* () {
    const urls = yield* deleteExpiredUploadUrls()
    yield* endDeadUploads()
    const soonest = DateTime.add(yield* DateTime.now, uploadsInterval)
    const expiries = urls.map(({ value }) => value.expiresOn)
    return expiries.length === 0 ? undefined : DateTime.max(expiries.reduce(DateTime.min), soonest)
  })

  /** Treats an artifact as in use when the store cannot be read, so that a sweep never deletes it. */
  const treatErrorAsInUse =
    <E>(isInUse: (id: string) => Effect.Effect<boolean, E, Store>) =>
    (id: string) =>
      isInUse(id).pipe(
        withStore,
        Effect.catchCause(() => Effect.succeed(true))
      )

  /** Each process has files of its own. */
  const sweep = ({ sources, target }: DeploymentConfigShape) =>
    Effect.all(
      [
        runBestEffort("Sweeping sources", sources.sweep?.(treatErrorAsInUse(isSourceInUse)) ?? Effect.void),
        runBestEffort("Sweeping releases", target.sweep?.(treatErrorAsInUse(isReleaseInUse)) ?? Effect.void)
      ],
      { discard: true }
    )

  if (config !== undefined && hasBackground) {
    yield* dueWork.register({ ...deploymentsJob, run: (partition) => withServices(runProjectJob(config, partition)) })
    yield* dueWork.register({ ...uploadsJob, run: () => withServices(runUploadsJob) })
    yield* sweep(config).pipe(Effect.andThen(Effect.sleep("1 hour")), Effect.forever, withStore, Effect.forkScoped)
  }

  return DeploymentScheduler.of({
    schedule: (project, id) =>
      Effect.suspend(() => {
        if (config === undefined || !hasBackground) return Effect.void
        queue.add({ project, id })
        return startQueued(config)
      }),
    prune: (project, name) => (config === undefined ? Effect.void : Effect.asVoid(prune(config, project, name)))
  })
})

export class DeploymentScheduler extends Context.Service<
  DeploymentScheduler,
  {
    /** Queues a run. Starts it immediately if this process has a free slot; otherwise it waits in the queue for one. */
    readonly schedule: (project: Project, id: string) => Effect.Effect<void>
    /** Starts to remove what a deployment no longer needs, and does not wait for it. */
    readonly prune: (project: Project, name: string) => Effect.Effect<void>
  }
>()("@tollgate/deployments/runner/DeploymentScheduler") {
  static readonly layer = Layer.effect(DeploymentScheduler, make)
}
