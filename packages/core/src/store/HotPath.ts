/**
 * How the hot path, which verifies keys and counts usage, reaches the store: with the time and the two operations that it
 * needs. A store that answers at once then needs no fiber.
 *
 * The functions of the hot path take a `HotPath` and combine effects with Effect's eager functions (`flatMapEager` and
 * the like). If the store has answered at once, the whole decision is an `Exit`.
 */
import { type Clock, Effect } from "effect"
import type { StoreOperations } from "./Store.ts"

export interface HotPath {
  readonly clock: Clock.Clock
  /** Its operations may run when they are called, and not when the effect runs: do not run a returned effect again. */
  readonly store: Pick<StoreOperations, "getByUniqueKey" | "commit">
}

/** Runs a function of the hot path as an effect: every store operation runs in the fiber. */
export const runInFiber = <A, E, R>(
  store: StoreOperations,
  run: (hotPath: HotPath) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.clockWith((clock) => run({ clock, store }))

/** A hot path on which the store answers at once, if it can. There is no fiber, and so no span. */
export const makeImmediate = (store: StoreOperations, clock: Clock.Clock): HotPath => ({
  clock,
  store: {
    getByUniqueKey: (partition, uniqueKeys) =>
      store.getByUniqueKey.now?.(partition, uniqueKeys) ?? store.getByUniqueKey(partition, uniqueKeys),
    commit: (partition, changes, idempotency) =>
      (idempotency === undefined ? store.commit.now?.(partition, changes, clock) : undefined) ??
      store.commit(partition, changes, idempotency)
  }
})
