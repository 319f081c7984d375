/**
 * Runs versions: at once where they were uploaded, and wherever a run was left by a process that died. Any number of
 * processes do this over one store.
 */
import { Context, DateTime, Effect, FiberMap, Layer, Queue } from "effect"
import * as Base62 from "../shared/Base62.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { attempted } from "./attempted.ts"
import {
  busy,
  busyFor,
  inProgress,
  isReleaseWanted,
  isSourceWanted,
  type Project,
  partitionOf,
  removals,
  uploads,
  versions
} from "./deploymentRecords.ts"
import { finishRemoval } from "./finishRemoval.ts"
import { Hosting, type HostingShape } from "./Hosting.ts"
import * as Lease from "./Lease.ts"
import { isFree } from "./progress.ts"
import { run } from "./run.ts"

/** How many versions one process runs at once. */
const atOnce = 4

const directory = Partition.deploymentDirectory

const expiredBy = (now: DateTime.Utc, expiresOn: DateTime.Utc): boolean =>
  DateTime.toEpochMillis(expiresOn) < DateTime.toEpochMillis(now)

/** Forgets addresses whose time is over, oldest first. */
const forgetUploads = Effect.gen(function* () {
  const store = yield* Store
  const now = yield* DateTime.now
  for (;;) {
    const { entries } = yield* uploads.page(directory, { offset: 0, limit: 100 })
    const expired = entries.filter(({ value }) => expiredBy(now, value.expiresOn))
    if (expired.length === 0) return
    yield* store.commit(directory, expired.map(uploads.remove))
  }
})

const make = Effect.gen(function* () {
  const store = yield* Store
  const hosting = yield* Hosting
  const running = yield* FiberMap.make<string>()
  const wake = yield* Queue.sliding<void>(1)
  const holder = yield* Base62.random(22)
  const withStore = Effect.provideService(Store, store)

  /** Starts a run, unless there are enough of them. */
  const start = (hosting: HostingShape, project: Project, id: string) =>
    Effect.gen(function* () {
      if ((yield* FiberMap.size(running)) >= atOnce || (yield* FiberMap.has(running, id))) return
      yield* FiberMap.run(
        running,
        id,
        // A run that has ended makes room for the next; one that failed is better left for a while.
        run(hosting, project, id, holder).pipe(
          Effect.andThen(Queue.offer(wake, undefined)),
          (ended) => attempted(`The run of ${id}`, ended),
          withStore
        )
      )
    })

  const look = Effect.fnUntraced(function* (hosting: HostingShape, project: Project) {
    const now = yield* DateTime.now
    const partition = partitionOf(project)
    const open = yield* versions.page(partition, { where: [inProgress], offset: 0, limit: 100 })
    const left = yield* removals.page(partition, { offset: 0, limit: 100 })
    for (const { value } of open.entries) if (isFree(value, now)) yield* start(hosting, project, value.id)
    for (const removal of left.entries) yield* finishRemoval(hosting, project, removal)
    return open.total + left.total
  })

  /** Looks at every project that may have something to do. */
  const poll = Effect.fnUntraced(function* (hosting: HostingShape) {
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    for (let offset = 0; ; offset += 1000) {
      const { entries, total } = yield* busy.page(directory, { offset, limit: 1000 })
      yield* Effect.forEach(
        entries,
        (entry) =>
          Effect.gen(function* () {
            const count = yield* look(hosting, entry.value)
            if (count > 0 || now - DateTime.toEpochMillis(entry.value.since) < busyFor) return
            yield* store.commit(directory, [busy.remove(entry)])
          }).pipe(Effect.catchCause((cause) => Effect.logDebug("Looking for runs failed", cause))),
        { concurrency: 8 }
      )
      if (offset + entries.length >= total || entries.length === 0) return
    }
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
        attempted("Forgetting uploads", forgetUploads),
        attempted("Sweeping sources", sources.sweep?.(asked(isSourceWanted)) ?? Effect.void),
        attempted("Sweeping releases", target.sweep?.(asked(isReleaseWanted)) ?? Effect.void)
      ],
      { discard: true }
    )

  if (hosting !== undefined) {
    yield* poll(hosting).pipe(
      Effect.catchCause((cause) => Effect.logDebug("Looking for runs failed", cause)),
      Effect.andThen(Effect.timeoutOption(Queue.take(wake), Lease.renewal)),
      Effect.forever,
      withStore,
      Effect.forkScoped
    )
    yield* sweep(hosting).pipe(Effect.andThen(Effect.sleep("1 hour")), Effect.forever, withStore, Effect.forkScoped)
  }

  return Pipeline.of({
    nudge: (project, id) => (hosting === undefined ? Effect.void : start(hosting, project, id))
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
