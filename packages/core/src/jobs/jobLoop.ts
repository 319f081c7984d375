/**
 * The loop of background work. Every one or two seconds one read finds the processes that do not live and the entries that are
 * due, of all accounts. What this process itself causes, it does at once, and does not wait for the loop.
 */

import {
  type Entry,
  jobsDirectory,
  type RecordUnreadable,
  Store,
  type StorePage,
  type StoreRecord
} from "@tollgate/store/internal"
import { DateTime, Effect, FiberSet, Layer, Random, Stream } from "effect"
import { Background } from "./Background.ts"
import { onBackgroundClock, pause } from "./BackgroundClock.ts"
import { DueWork } from "./DueWork.ts"
import { HeldWork } from "./HeldWork.ts"
import { type DeadProcess, Processes } from "./Processes.ts"
import { processRecords } from "./processRecords.ts"
import { makeRunDue } from "./runDue.ts"
import { takeOver } from "./takeOver.ts"
import { type DueEntry, dueIndex, dueRecords, heldBy } from "./workRecords.ts"

const pollMs = 1_300
/** How long the loop pauses at most, if the store fails again and again. */
const maxPauseMs = 30_000
/** After so many failures in a row the log has a warning. */
const failuresToWarn = 3
const pageSize = 1_000
/** How long a closing process takes to tell the others what it leaves. */
const closingTimeout = "2 seconds"

/** The entries of a page that this version can read. One that it cannot read must not stop all background work. */
const decodeReadable = <A>(
  page: StorePage | undefined,
  decode: (record: StoreRecord) => Effect.Effect<Entry<A>, RecordUnreadable>
) =>
  Effect.map(
    Effect.forEach(page?.records ?? [], (record) =>
      Effect.catch(decode(record), (error) =>
        Effect.as(Effect.logWarning("Background work is left out", error), undefined)
      )
    ),
    (entries) => entries.filter((entry) => entry !== undefined)
  )

const make = Effect.gen(function* () {
  const store = yield* Store
  const processes = yield* Processes
  const heldWork = yield* HeldWork
  const dueWork = yield* DueWork
  yield* Effect.addFinalizer(() => Effect.ignore(onBackgroundClock(Effect.timeout(heldWork.close, closingTimeout))))
  if (!(yield* Background)) return
  const runs = yield* makeRunDue
  const runDue = runs.start
  const fibers = yield* FiberSet.make()
  const takingOver = new Set<string>()
  /** The dead processes whose entries this one has. */
  const takenOver = new Set<string>()
  const isDue = (now: DateTime.Utc) => (entry: Entry<DueEntry>) => DateTime.isLessThanOrEqualTo(entry.value.dueOn, now)

  const startTakeOver = (dead: DeadProcess) =>
    Effect.suspend(() => {
      const { id } = dead.entry.value
      if (takingOver.has(id)) return Effect.void
      takingOver.add(id)
      const run = takeOver({ ...dead, isTakenOver: takenOver.has(id) }, runDue).pipe(
        Effect.andThen((isDone) => Effect.sync(() => isDone && takenOver.add(id))),
        // On a conflict, another process does it, or the process lives after all.
        Effect.catchCause((cause) => Effect.logDebug("Taking over the work of a process failed", cause)),
        Effect.ensuring(Effect.sync(() => takingOver.delete(id)))
      )
      return Effect.asVoid(FiberSet.run(fibers, run))
    })

  const poll = Effect.gen(function* () {
    const now = yield* DateTime.now
    const terms = dueIndex.termsUntil(now)
    const page = { offset: 0, limit: pageSize }
    const ownId = processes.getId() ?? ""
    const [processPage, ownPage, ...duePages] = yield* store.list(jobsDirectory, [
      { indexTerms: [processRecords.indexTerm()], ...page },
      { indexTerms: [dueRecords.indexTerm(heldBy(ownId))], ...page },
      ...terms.map((term) => ({ indexTerms: [dueRecords.indexTerm(term)], ...page }))
    ])
    const all = yield* decodeReadable(processPage, processRecords.decode)
    const dead = processes.findDead(all)
    const deadIds = new Set(dead.map(({ entry }) => entry.value.id))
    for (const id of takenOver) if (!deadIds.has(id)) takenOver.delete(id)
    yield* Effect.forEach(dead, startTakeOver, { discard: true })
    yield* Effect.forEach(yield* decodeReadable(ownPage, dueRecords.decode), runs.free, { discard: true })
    for (const duePage of duePages) {
      const entries = yield* decodeReadable(duePage, dueRecords.decode)
      yield* Effect.forEach(entries.filter(isDue(now)), runDue, { discard: true })
    }
    // Only then what does not fit into a page: an account with much work does not delay that of others.
    for (const [index, { next: after }] of duePages.entries()) {
      if (after === undefined) continue
      yield* dueRecords
        .stream(jobsDirectory, { where: [terms[index] ?? ""], after, pageSize })
        .pipe(Stream.filter(isDue(now)), Stream.runForEach(runDue))
    }
    yield* heldWork.dropIdle
  })

  /** Processes that were started together do not stay in step. */
  const nextPause = (failures: number) =>
    Effect.map(Random.next, (random) => Math.min(pollMs * 2 ** failures, maxPauseMs) * (0.8 + 0.4 * random))

  let failures = 0
  yield* poll.pipe(
    Effect.andThen(
      Effect.sync(() => {
        failures = 0
      })
    ),
    Effect.catchCause((cause) => {
      failures++
      const log = failures === failuresToWarn ? Effect.logWarning : Effect.logDebug
      return log("Looking for background work failed", cause)
    }),
    Effect.andThen(Effect.suspend(() => Effect.flatMap(nextPause(failures), pause))),
    Effect.forever,
    Effect.provideService(Store, store),
    Effect.provideService(Processes, processes),
    Effect.provideService(HeldWork, heldWork),
    Effect.provideService(DueWork, dueWork),
    Effect.forkScoped
  )
})

export const jobLoopLayer = Layer.effectDiscard(make)
