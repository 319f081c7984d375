/**
 * Runs versions: at once where they were uploaded, and wherever a run was left by a process that died. Any number of
 * processes do this over one store.
 */
import { Context, DateTime, Effect, Exit, FiberSet, Layer } from "effect"
import * as Base62 from "../shared/Base62.ts"
import type { Entry } from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { attempted } from "./attempted.ts"
import {
  busy,
  busyFor,
  inProgress,
  type Project,
  partitionOf,
  type Removal,
  removals,
  type Version,
  versions
} from "./deploymentRecords.ts"
import { isReleaseWanted, isSourceWanted } from "./findDeployment.ts"
import { finishRemoval } from "./finishRemoval.ts"
import { Hosting, type HostingShape } from "./Hosting.ts"
import { makeLeaseWatch } from "./LeaseWatch.ts"
import { makeRunQueue, type WaitingRun } from "./RunQueue.ts"
import { endLapsedLeases } from "./releaseName.ts"
import { run } from "./run.ts"
import { forgetExpiredUploads } from "./uploadRecords.ts"

/** How many versions one process runs at once. */
const slots = 4
/** How often a process looks for runs that were left to it. */
const pollInterval = "3 seconds"

const directory = Partition.deploymentDirectory

/** A run that can be taken, as it was found. */
interface Found extends WaitingRun {
  readonly since: number
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const hosting = yield* Hosting
  const fibers = yield* FiberSet.make()
  const queue = makeRunQueue(slots)
  const leases = makeLeaseWatch()
  const clearing = new Set<string>()
  const holder = yield* Base62.random(22)
  const withStore = Effect.provideService(Store, store)

  /** Starts what is waiting, as far as there is room; what ends makes room for the next. */
  const fill = (hosting: HostingShape): Effect.Effect<void> =>
    Effect.suspend(() => {
      const next = queue.next()
      if (next === undefined) return Effect.void
      const { id } = next
      const ended = Effect.onExit(attempted(`The run of ${id}`, run(hosting, next, holder)), (exit) => {
        queue.finish(id)
        return Exit.isSuccess(exit) ? fill(hosting) : Effect.void
      })
      return Effect.andThen(FiberSet.run(fibers, withStore(ended)), fill(hosting))
    })

  /** Finishes a removal, beside everything else: a target that hangs keeps nobody waiting. */
  const clear = (hosting: HostingShape, project: Project, removal: Entry<Removal>) =>
    Effect.suspend(() => {
      const { id, name } = removal.value
      if (clearing.has(id)) return Effect.void
      clearing.add(id)
      return FiberSet.run(
        fibers,
        attempted(`Removing what is left of ${name}`, finishRemoval(hosting, project, removal)).pipe(
          Effect.ensuring(Effect.sync(() => clearing.delete(id))),
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
  const look = Effect.fnUntraced(function* (hosting: HostingShape, project: Project) {
    const page = { offset: 0, limit: 100 }
    const [open, left] = yield* store.list(partitionOf(project), [
      { indexTerms: [versions.indexTerm(inProgress)], ...page },
      { indexTerms: [removals.indexTerm()], ...page }
    ])
    const found = yield* Effect.forEach(open?.records ?? [], versions.decode)
    for (const record of left?.records ?? []) yield* clear(hosting, project, yield* removals.decode(record))
    const runs: ReadonlyArray<ReadonlyArray<Found>> = yield* Effect.forEach(found, (entry) => findRun(project, entry))
    return { runs: runs.flat(), isIdle: open?.total === 0 && left?.total === 0 }
  })

  /** Looks at every project that may have something to do, and starts what it finds. */
  const poll = Effect.fnUntraced(function* (hosting: HostingShape) {
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const found: Array<Found> = []
    leases.startRound()
    for (let offset = 0; ; offset += 1000) {
      const { entries, total } = yield* busy.page(directory, { offset, limit: 1000 })
      yield* Effect.forEach(
        entries,
        (entry) =>
          Effect.gen(function* () {
            const { runs, isIdle } = yield* look(hosting, entry.value)
            found.push(...runs)
            const isOver = isIdle && now - DateTime.toEpochMillis(entry.value.since) >= busyFor
            if (isOver) yield* store.commit(directory, [busy.remove(entry)])
          }).pipe(Effect.catchCause((cause) => Effect.logDebug("Looking for runs failed", cause))),
        { concurrency: 8 }
      )
      if (offset + entries.length >= total || entries.length === 0) break
    }
    queue.replace(found.sort((left, right) => left.since - right.since))
    yield* fill(hosting)
  })

  /** What cannot be asked about is wanted. */
  const asked =
    <E>(isWanted: (id: string) => Effect.Effect<boolean, E, Store>) =>
    (id: string) =>
      isWanted(id).pipe(
        withStore,
        Effect.catchCause(() => Effect.succeed(true))
      )

  const sweep = ({ sources, target }: HostingShape) =>
    Effect.all(
      [
        attempted("Forgetting uploads", forgetExpiredUploads()),
        attempted("Ending uploads of processes that died", endLapsedLeases()),
        attempted("Sweeping sources", sources.sweep?.(asked(isSourceWanted)) ?? Effect.void),
        attempted("Sweeping releases", target.sweep?.(asked(isReleaseWanted)) ?? Effect.void)
      ],
      { discard: true }
    )

  if (hosting !== undefined) {
    yield* poll(hosting).pipe(
      Effect.catchCause((cause) => Effect.logDebug("Looking for runs failed", cause)),
      Effect.andThen(Effect.sleep(pollInterval)),
      Effect.forever,
      withStore,
      Effect.forkScoped
    )
    yield* sweep(hosting).pipe(Effect.andThen(Effect.sleep("1 hour")), Effect.forever, withStore, Effect.forkScoped)
  }

  return Pipeline.of({
    nudge: (project, id) =>
      Effect.suspend(() => {
        if (hosting === undefined) return Effect.void
        queue.add({ project, id })
        return fill(hosting)
      })
  })
})

export class Pipeline extends Context.Service<
  Pipeline,
  {
    /** Begins a run now, if this process has room for it; otherwise some process will soon. */
    readonly nudge: (project: Project, id: string) => Effect.Effect<void>
  }
>()("@tollgate/core/deployments/Pipeline") {
  static readonly layer = Layer.effect(Pipeline, make)
}
