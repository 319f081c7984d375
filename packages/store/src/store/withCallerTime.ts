/**
 * The commits of a store on a server, with the caller's clock if its option `clock` says so. That is for tests: a
 * `TestClock` then controls the rate limits.
 */
import { Effect } from "effect"
import { MicrosecondClock } from "./MicrosecondClock.ts"
import type { StoreOperations } from "./Store.ts"

type Commit = StoreOperations["commit"]

/** `time` is the caller's time in microseconds, or `undefined` to use the server's. */
type TimedCommit = (...args: [...Parameters<Commit>, time?: number]) => ReturnType<Commit>

export const withCallerTime = (source: "server" | "caller" | undefined, commit: TimedCommit): Commit => {
  if (source !== "caller") return (partition, changes, idempotency) => commit(partition, changes, idempotency)
  const microseconds = new MicrosecondClock("caller")
  return (partition, changes, idempotency) =>
    Effect.clockWith((clock) => commit(partition, changes, idempotency, microseconds.read(clock)))
}
