/**
 * Runs versions: at once where they were uploaded, and wherever a run was left by a process that died. Any number of
 * processes do this over one store.
 */
import { Context, DateTime, Effect, Exit, FiberSet, Layer } from "effect"
import * as Base62 from "../../crypto/Base62.ts"
import { logFailure } from "../../runtime/logFailure.ts"
import type { Entry } from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { Store } from "../../store/Store.ts"
import {
  activeProjects,
  activeProjectTtl,
  inProgress,
  type Project,
  partitionOf,
  type Removal,
  removals,
  type Version,
  versions
} from "../model/deploymentRecords.ts"
import { isReleaseWanted, isSourceWanted } from "../model/findDeployment.ts"
import { endExpiredLeases } from "../model/releaseName.ts"
import { deleteExpiredUploads } from "../model/uploadRecords.ts"
import { DeploymentConfig, type DeploymentConfigShape } from "../ports/DeploymentConfig.ts"
import { finishRemoval } from "./finishRemoval.ts"
import { makeLeaseWatch } from "./LeaseWatch.ts"
import { makeRunQueue, type WaitingRun } from "./RunQueue.ts"
import { runVersion } from "./runVersion.ts"

/** How many versions one process runs at once. */
const concurrency = 4
/** How often a process looks for runs that were left to it. */
const pollInterval = "3 seconds"

const directory = Partition.deploymentDirectory

/** A run that can be taken, as it was found. */
interface FoundRun extends WaitingRun {
  readonly since: number
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const hosting = yield* DeploymentConfig
  const fibers = yield* FiberSet.make()
  const queue = makeRunQueue(concurrency)
  const leases = makeLeaseWatch()
  const removing = new Set<string>()
  const holder = yield* Base62.random(22)
  const withStore = Effect.provideService(Store, store)

  /** Starts what is waiting, as far as there is room; what ends makes room for the next. */
  const startQueued = (hosting: DeploymentConfigShape): Effect.Effect<void> =>
    Effect.suspend(() => {
      const next = queue.next()
      if (next === undefined) return Effect.void
      const { id } = next
      const ended = Effect.onExit(logFailure(`The run of ${id}`, runVersion(hosting, next, holder)), (exit) => {
        queue.finish(id)
        return Exit.isSuccess(exit) ? startQueued(hosting) : Effect.void
      })
      return Effect.andThen(FiberSet.run(fibers, withStore(ended)), startQueued(hosting))
    })

  /** Finishes a removal, beside everything else: a target that hangs keeps nobody waiting. */
  const resumeRemoval = (hosting: DeploymentConfigShape, project: Project, removal: Entry<Removal>) =>
    Effect.suspend(() => {
      const { id, name } = removal.value
      if (removing.has(id)) return Effect.void
      removing.add(id)
      return FiberSet.run(
        fibers,
        logFailure(`Removing what is left of ${name}`, finishRemoval(hosting, project, removal)).pipe(
          Effect.ensuring(Effect.sync(() => removing.delete(id))),
          withStore
        )
      )
    })

  /** The run of a version, if it can be taken: nobody holds it, or its holder has fallen silent. */
  const findRun = Effect.fnUntraced(function* (project: Project, { value, version }: Entry<Version>) {
    const isHeld = value.run?.holder !== undefined
    if (isHeld && !(yield* leases.isLapsed(value.id, version))) return []
    const since = DateTime.toEpochMillis(value.run?.until ?? value.createdOn)
    return [{ project, id: value.id, since, ...(isHeld ? { lapsedVersion: version } : {}) }]
  })

  /** What there is to do in a project, in one round trip: runs that can be taken, and removals that were cut off. */
  const scanProject = Effect.fnUntraced(function* (hosting: DeploymentConfigShape, project: Project) {
    const page = { offset: 0, limit: 100 }
    const [open, left] = yield* store.list(partitionOf(project), [
      { indexTerms: [versions.indexTerm(inProgress)], ...page },
      { indexTerms: [removals.indexTerm()], ...page }
    ])
    const found = yield* Effect.forEach(open?.records ?? [], versions.decode)
    for (const record of left?.records ?? []) yield* resumeRemoval(hosting, project, yield* removals.decode(record))
    const runs: ReadonlyArray<ReadonlyArray<FoundRun>> = yield* Effect.forEach(found, (entry) =>
      findRun(project, entry)
    )
    return { runs: runs.flat(), isIdle: open?.total === 0 && left?.total === 0 }
  })

  /** Looks at every project that may have something to do, and starts what it finds. */
  const scan = Effect.fnUntraced(function* (hosting: DeploymentConfigShape) {
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const found: Array<FoundRun> = []
    leases.startRound()
    for (let offset = 0; ; offset += 1000) {
      const { entries, total } = yield* activeProjects.page(directory, { offset, limit: 1000 })
      yield* Effect.forEach(
        entries,
        (entry) =>
          Effect.gen(function* () {
            const { runs, isIdle } = yield* scanProject(hosting, entry.value)
            found.push(...runs)
            const isOver = isIdle && now - DateTime.toEpochMillis(entry.value.since) >= activeProjectTtl
            if (isOver) yield* store.commit(directory, [activeProjects.remove(entry)])
          }).pipe(Effect.catchCause((cause) => Effect.logDebug("Looking for runs failed", cause))),
        { concurrency: 8 }
      )
      if (offset + entries.length >= total || entries.length === 0) break
    }
    queue.replace(found.sort((left, right) => left.since - right.since))
    yield* startQueued(hosting)
  })

  /** What cannot be asked about is wanted. */
  const wantedOnError =
    <E>(isWanted: (id: string) => Effect.Effect<boolean, E, Store>) =>
    (id: string) =>
      isWanted(id).pipe(
        withStore,
        Effect.catchCause(() => Effect.succeed(true))
      )

  const sweep = ({ sources, target }: DeploymentConfigShape) =>
    Effect.all(
      [
        logFailure("Forgetting uploads", deleteExpiredUploads()),
        logFailure("Ending uploads of processes that died", endExpiredLeases()),
        logFailure("Sweeping sources", sources.sweep?.(wantedOnError(isSourceWanted)) ?? Effect.void),
        logFailure("Sweeping releases", target.sweep?.(wantedOnError(isReleaseWanted)) ?? Effect.void)
      ],
      { discard: true }
    )

  if (hosting !== undefined) {
    yield* scan(hosting).pipe(
      Effect.catchCause((cause) => Effect.logDebug("Looking for runs failed", cause)),
      Effect.andThen(Effect.sleep(pollInterval)),
      Effect.forever,
      withStore,
      Effect.forkScoped
    )
    yield* sweep(hosting).pipe(Effect.andThen(Effect.sleep("1 hour")), Effect.forever, withStore, Effect.forkScoped)
  }

  return DeploymentScheduler.of({
    nudge: (project, id) =>
      Effect.suspend(() => {
        if (hosting === undefined) return Effect.void
        queue.add({ project, id })
        return startQueued(hosting)
      })
  })
})

export class DeploymentScheduler extends Context.Service<
  DeploymentScheduler,
  {
    /** Begins a run now, if this process has room for it; otherwise some process will soon. */
    readonly nudge: (project: Project, id: string) => Effect.Effect<void>
  }
>()("@tollgate/core/deployments/runner/DeploymentScheduler") {
  static readonly layer = Layer.effect(DeploymentScheduler, make)
}
