/**
 * Does the work of due entries, in turns of their accounts. A process holds an entry while it does the work; then it writes
 * when more is due. An entry without further work is looked at once more a while later, because a process may have relied
 * on it until it was due, and is removed then.
 */

import {
  type Change,
  type CommitResult,
  type Entry,
  FairSemaphore,
  jobsDirectory,
  makeBatches,
  type Partition,
  Store,
  type StoreUnavailable
} from "@tollgate/store/internal"
import { Cause, DateTime, Effect, FiberSet, Random } from "effect"
import { instruments } from "../telemetry/instruments.ts"
import { observeScoped, Telemetry } from "../telemetry/Telemetry.ts"
import { DueWork } from "./DueWork.ts"
import type { JobKind } from "./JobKind.ts"
import { Processes } from "./Processes.ts"
import { type DueEntry, dueKey, dueRecords, giveUp } from "./workRecords.ts"

const concurrency = 8
/** When an entry without further work is looked at again: later than any process relies on it, if clocks differ by 10 minutes. */
const quietFor = { minutes: 15 }
const maxBatch = 50
const firstRetryMs = 2_000
const maxRetryMs = 10 * 60_000

export const makeRunDue = Effect.gen(function* () {
  const store = yield* Store
  const processes = yield* Processes
  const dueWork = yield* DueWork
  const { series } = yield* Telemetry
  const fibers = yield* FiberSet.make()
  const permits = new FairSemaphore(concurrency)
  /** The keys of entries that wait for their turn, or whose work is being done. */
  const started = new Set<string>()
  yield* observeScoped(instruments.jobsQueue, () => started.size)

  const noResult: CommitResult = { versions: new Map(), totals: new Map() }
  const commitUnlessChanged = (changes: ReadonlyArray<Change>) =>
    Effect.catchTag(store.commit(jobsDirectory, changes), "StoreConflict", () => Effect.succeed(noResult))

  /** Many changes in one commit. If another process has changed one of their entries, each by itself. */
  const change = makeBatches(
    (_: string, changes: ReadonlyArray<Change>): Effect.Effect<CommitResult["versions"], StoreUnavailable> =>
      store.commit(jobsDirectory, changes).pipe(
        Effect.catchTag("StoreConflict", () =>
          Effect.map(
            Effect.forEach(changes, (change) => commitUnlessChanged([change])),
            (results) => ({
              versions: new Map(results.flatMap(({ versions }) => [...versions]))
            })
          )
        ),
        Effect.map(({ versions }) => versions)
      ),
    maxBatch
  )

  /** Holds an entry. Returns nothing if another process was faster. */
  const claim = Effect.fnUntraced(function* (entry: Entry<DueEntry>) {
    const holder = yield* processes.join
    const value = { ...entry.value, holder }
    const versions = yield* change("claim", dueRecords.replace(entry, value))
    const version = versions.get(dueRecords.recordKey(dueKey(value.kind, value.partition)))
    return version === undefined ? undefined : { value, version }
  })

  /** What an entry becomes after its work was done: nothing if it can be removed. */
  const toNext = (
    { holder: _, failures: __, ...done }: DueEntry,
    dueOn: DateTime.Utc | undefined,
    now: DateTime.Utc
  ): DueEntry | undefined => {
    const { isQuiet, ...entry } = done
    // Done early, because a process died. Others may rely on the entry until it is due.
    if (DateTime.isGreaterThan(done.dueOn, now)) {
      return dueOn === undefined || DateTime.isGreaterThan(dueOn, done.dueOn) ? done : { ...entry, dueOn }
    }
    const quietUntil = DateTime.addDuration(now, quietFor)
    if (isQuiet === true) return dueOn === undefined ? undefined : { ...entry, dueOn }
    return dueOn === undefined || DateTime.isGreaterThan(dueOn, quietUntil)
      ? { ...entry, dueOn: quietUntil, isQuiet: true }
      : { ...entry, dueOn }
  }

  /** Not quiet any more: it is looked at earlier than it was to be removed. */
  const toRetry = Effect.fnUntraced(function* (
    { holder: _, isQuiet: __, failures = 0, ...entry }: DueEntry,
    now: DateTime.Utc
  ) {
    const delay = Math.min(firstRetryMs * 2 ** failures, maxRetryMs) * (0.75 + (yield* Random.next) / 2)
    return { ...entry, dueOn: DateTime.add(now, { milliseconds: delay }), failures: failures + 1 }
  })

  const doWork = Effect.fnUntraced(function* (kind: JobKind, entry: Entry<DueEntry>) {
    const claimed = yield* claim(entry)
    if (claimed === undefined) return
    const { value } = claimed
    const started = yield* DateTime.now
    const attributes = { "tollgate.job": kind.name }
    series(
      instruments.jobsDelay,
      attributes
    )(Math.max(0, DateTime.toEpochMillis(started) - DateTime.toEpochMillis(value.dueOn)) / 1_000)
    const next = yield* kind.run(value.partition as Partition.Partition, value.accountName).pipe(
      Effect.map((dueOn) => {
        series(instruments.jobs, { ...attributes, "tollgate.outcome": "succeeded" })(1)
        return toNext(value, dueOn, started)
      }),
      Effect.catchCause((cause) => {
        // This process closes: another one goes on.
        if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
        series(instruments.jobs, { ...attributes, "tollgate.outcome": "failed" })(1)
        return Effect.andThen(
          Effect.logWarning(`The job ${kind.name} of ${value.partition} failed. Tollgate will retry.`, cause),
          toRetry(value, started)
        )
      })
    )
    yield* change("finish", next === undefined ? dueRecords.remove(claimed) : dueRecords.replace(claimed, next))
  })

  /** Does the work of an entry in its turn. */
  const start = (entry: Entry<DueEntry>) =>
    Effect.suspend(() => {
      const { kind: name, partition, accountName } = entry.value
      const key = dueKey(name, partition)
      const kind = dueWork.findKind(name)
      if (kind === undefined || entry.value.holder !== undefined || started.has(key)) return Effect.void
      started.add(key)
      const run = permits.withPermit(accountName, doWork(kind, entry)).pipe(
        Effect.catchCause((cause) => Effect.logDebug(`The job ${name} of ${partition} could not start or end`, cause)),
        Effect.ensuring(Effect.sync(() => started.delete(key)))
      )
      return Effect.asVoid(FiberSet.run(fibers, run))
    })

  /** Gives up an entry that this process holds, unless it does the work: the store may have failed before or after it. */
  const free = (entry: Entry<DueEntry>) =>
    started.has(dueKey(entry.value.kind, entry.value.partition))
      ? Effect.void
      : Effect.asVoid(change("free", giveUp(entry)))

  return { start, free }
})
