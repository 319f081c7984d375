/**
 * Takes over the work of a process that does not live: marks its record first, so that one process does so and the dead one,
 * should it only have been suspended, learns of it. Each step can be repeated by another process.
 */

import { type Entry, jobsDirectory, Store } from "@tollgate/store/internal"
import { Effect } from "effect"
import { DueWork } from "./DueWork.ts"
import { HeldWork } from "./HeldWork.ts"
import { type DeadProcess, Processes } from "./Processes.ts"
import { processRecords } from "./processRecords.ts"
import { type DueEntry, dueKey, dueRecords, giveUp, heldQueries, heldRecords } from "./workRecords.ts"

/** Maximum entries in one commit. */
const batchSize = 250
/** How long the record of a dead process stays: until then, its last commits can arrive. */
const removableAfterMs = 5 * 60_000

/** Returns whether this process has the work now. `runDue` does the work of a due entry. */
export const takeOver = Effect.fnUntraced(function* (
  { entry, unchangedMs, isTakenOver }: DeadProcess & { readonly isTakenOver: boolean },
  runDue: (entry: Entry<DueEntry>) => Effect.Effect<void>
) {
  const store = yield* Store
  const dueWork = yield* DueWork
  const processes = yield* Processes
  const heldWork = yield* HeldWork
  const { id, endedBy } = entry.value
  const isOwn = endedBy !== undefined && endedBy === processes.getId()
  if (isTakenOver && unchangedMs < removableAfterMs) return true
  if (!isOwn && endedBy !== undefined && endedBy !== id && (yield* processes.isAlive(endedBy))) return false
  let version = entry.version
  if (!isOwn) {
    const ended = { ...entry.value, endedBy: yield* processes.join }
    const commitResult = yield* store.commit(jobsDirectory, [processRecords.replace(entry, ended)])
    version = processRecords.getVersion(commitResult, id)
  }
  for (;;) {
    const [heldPage, duePage] = yield* store.list(jobsDirectory, heldQueries(id, batchSize))
    const held = yield* Effect.forEach(heldPage?.records ?? [], heldRecords.decode)
    const due = yield* Effect.forEach(duePage?.records ?? [], dueRecords.decode)
    if (held.length > 0) yield* heldWork.adopt(held)
    if (due.length > 0) yield* store.commit(jobsDirectory, due.map(giveUp))
    // At once, and not when they are due: the clock of the dead process may have been another.
    const keys = [
      ...due.map(({ value }) => dueKey(value.kind, value.partition)),
      ...held.flatMap(({ value }) => dueWork.kindNames().map((kind) => dueKey(kind, value.partition)))
    ]
    const found = keys.length === 0 ? [] : yield* store.get(jobsDirectory, keys.map(dueRecords.recordKey))
    for (const record of found) if (record !== undefined) yield* runDue(yield* dueRecords.decode(record))
    if (held.length < batchSize && due.length < batchSize) break
  }
  if (isTakenOver) yield* store.commit(jobsDirectory, [processRecords.remove({ ...entry, version })])
  return true
})
