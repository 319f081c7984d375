/**
 * The turns of the event loop. Work that may be long is done in pieces: all pieces together take about 10 ms of a turn, and
 * then sockets, timers and new requests get theirs. Those who work on something long get their pieces one after another,
 * however many requests each of them has sent. A process has one event loop, so all Tollgates in it share its turns.
 */
// Imported, so that it is Node's own also where a test has replaced the global one by a fake timer.
import { setImmediate } from "node:timers"
import { Context, Effect } from "effect"
import { FairQueue } from "./FairQueue.ts"

/** Milliseconds of a turn that all pieces may take, and one of them. */
const turnMs = 10
const pieceMs = 5

/** For whom a request works: the account of its token, or a token for all accounts. Callers in process share one name. */
export class WorkOwner extends Context.Reference<string>("@tollgate/store/runtime/turns/WorkOwner", {
  defaultValue: () => ""
}) {}

/** What waits for its next piece, by owner. */
const waiting = new FairQueue<() => void>()
let isScheduled = false

const runTurn = (): void => {
  const end = performance.now() + turnMs
  isScheduled = false
  do waiting.take()?.item()
  while (!waiting.isEmpty && performance.now() < end)
  if (!waiting.isEmpty) schedule()
}

const schedule = (): void => {
  if (isScheduled) return
  isScheduled = true
  setImmediate(runTurn)
}

/** Continues in a later turn, when it is the owner's. */
export const nextTurn: Effect.Effect<void> = Effect.flatMap(WorkOwner, (owner) =>
  Effect.callback<void>((resume) => {
    const piece = (): void => resume(Effect.void)
    waiting.add(owner, piece)
    schedule()
    return Effect.sync(() => waiting.delete(owner, piece))
  })
)

/** Says when a piece has lasted long enough. The real clock: a test that stops its `TestClock` must not stop others. */
export const startPiece = (): { readonly isOver: () => boolean } => {
  const end = performance.now() + pieceMs
  return { isOver: () => performance.now() >= end }
}

/** Like a sequential `Effect.forEach`, in pieces. */
export const forEachInPieces = <A, B, E, R>(
  items: ReadonlyArray<A>,
  run: (item: A, index: number) => Effect.Effect<B, E, R>
): Effect.Effect<Array<B>, E, R> =>
  Effect.gen(function* () {
    const results: Array<B> = []
    let piece = startPiece()
    for (const [index, item] of items.entries()) {
      results.push(yield* run(item, index))
      if (!piece.isOver()) continue
      yield* nextTurn
      piece = startPiece()
    }
    return results
  })
