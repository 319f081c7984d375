/**
 * How the hot path, which verifies keys and counts usage, reaches the store: with the time and the two operations that it
 * needs. A store that answers at once then needs no fiber.
 *
 * The functions of the hot path take a `HotPath` and combine effects with Effect's eager functions (`flatMapEager` and
 * the like). If the store has answered at once, the whole decision is an `Exit`.
 */
import { type Clock, Effect } from "effect"
import type { Partition } from "./Partition.ts"
import type { Change, Commit, GetByUniqueKey, StoreOperations } from "./Store.ts"

export interface HotPath {
  readonly clock: Clock.Clock
  /** Its operations may run when they are called, and not when the effect runs: do not run a returned effect again. */
  readonly store: {
    readonly getByUniqueKey: (...args: Parameters<GetByUniqueKey>) => ReturnType<GetByUniqueKey>
    readonly commit: (partition: Partition, changes: ReadonlyArray<Change>) => ReturnType<Commit>
  }
}

/** Runs a function of the hot path as an effect: every store operation runs in the fiber. */
export const runInFiber = <A, E, R>(
  store: StoreOperations,
  run: (hotPath: HotPath) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.clockWith((clock) => run({ clock, store }))
