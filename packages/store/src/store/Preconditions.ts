/**
 * Checks the preconditions of a commit before any change is applied, and computes the new values of its counters. For
 * adapters that can read their state synchronously; an adapter that commits elsewhere, such as in a Redis script, checks
 * in the same order there.
 */
import type { Clock } from "effect"
import { take } from "./gcra.ts"
import type { MicrosecondClock } from "./MicrosecondClock.ts"
import type { Change } from "./Store.ts"
import { StoreConflict } from "./StoreError.ts"

/** The state of the store before the commit. */
export interface CommitState {
  /** The version of a record; 0 if it does not exist. */
  readonly version: (key: string) => number
  /** The key of the record that has this unique key. */
  readonly owner: (uniqueKey: string) => string | undefined
  /** The number of records that have this index term. */
  readonly total: (term: string) => number
  readonly counter: (name: string) => number
  /** The time of rate limits. */
  readonly time: { readonly clock: Clock.Clock; readonly microseconds: MicrosecondClock }
}

export interface CounterUpdate {
  readonly counter: string
  /** The value to store, at least for `ttl` milliseconds of the clock by which it was evaluated. */
  readonly value: number
  /** The value to return in `totals`. */
  readonly total: number
  readonly ttl: number
  /** Whether the store must remove the counter instead. */
  readonly isRemoved: boolean
}

/** The records that will have unique keys after a commit. */
class UniqueKeyOwners {
  readonly #state: CommitState
  readonly #writtenKeys = new Set<string>()
  readonly #newOwners = new Map<string, string>()

  constructor(changes: ReadonlyArray<Change>, state: CommitState) {
    this.#state = state
    for (const change of changes)
      if (change._tag === "Put" || change._tag === "Delete") this.#writtenKeys.add(change.key)
  }

  /** Returns a unique key of a record that another record has. */
  findTaken({ key, uniqueKeys }: Extract<Change, { readonly _tag: "Put" }>): string | undefined {
    for (const uniqueKey of uniqueKeys) {
      const owner = this.#state.owner(uniqueKey)
      // A record that this commit replaces or deletes releases its unique keys.
      const belongsToAnotherRecord = owner !== undefined && !this.#writtenKeys.has(owner)
      const newOwner = this.#newOwners.get(uniqueKey)
      if (belongsToAnotherRecord || (newOwner !== undefined && newOwner !== key)) return uniqueKey
      this.#newOwners.set(uniqueKey, key)
    }
    return undefined
  }
}

/** Whether a commit writes records. Most only check and count. */
export const writesRecords = (changes: ReadonlyArray<Change>): boolean => {
  for (const { _tag } of changes) if (_tag === "Put" || _tag === "Delete") return true
  return false
}

/**
 * Returns the new values of the counters, in the order of the changes; or the conflict of the first change, in order,
 * whose precondition does not hold.
 */
export const evaluate = (
  changes: ReadonlyArray<Change>,
  state: CommitState
): StoreConflict | ReadonlyArray<CounterUpdate> => {
  const updates: Array<CounterUpdate> = []
  const owners = writesRecords(changes) ? new UniqueKeyOwners(changes, state) : undefined

  for (const change of changes) {
    switch (change._tag) {
      case "Put":
      case "Delete":
      case "Check": {
        if (state.version(change.key) !== change.expect) {
          return new StoreConflict({ reason: "stale", subject: change.key })
        }
        const taken = change._tag === "Put" ? owners?.findTaken(change) : undefined
        if (taken !== undefined) return new StoreConflict({ reason: "unique-key", subject: taken })
        break
      }
      case "AtMost":
        if (state.total(change.term) > change.atMost) {
          return new StoreConflict({ reason: "too-many-records", subject: change.term })
        }
        break
      case "Add": {
        const { counter, by, max = Number.MAX_SAFE_INTEGER, ttl } = change
        const value = Math.max(0, state.counter(counter) + by)
        if (by > 0 && value > max) return new StoreConflict({ reason: "counter-exceeded", subject: counter })
        updates.push({ counter, value, total: value, ttl, isRemoved: by < 0 && value === 0 })
        break
      }
      case "Raise": {
        const { counter, ttl } = change
        const value = Math.max(state.counter(counter), change.to)
        updates.push({ counter, value, total: value, ttl, isRemoved: false })
        break
      }
      case "Take": {
        const { counter, ttl } = change
        const current = state.counter(counter)
        const { clock, microseconds } = state.time
        // A limit is never more than `burst` intervals from full. If it seems to be, its writer's clock was ahead.
        const now = microseconds.read(clock, current - change.burst * change.interval)
        const result = take(change, current, now)
        if (!result.allowed) {
          return new StoreConflict({ reason: "rate-limited", subject: counter, retryAfter: result.retryAfter })
        }
        updates.push({ counter, value: result.fullAt, total: result.untilFull, ttl, isRemoved: false })
        break
      }
      case "CheckCounter":
        if (state.counter(change.counter) !== change.expect) {
          return new StoreConflict({ reason: "stale", subject: change.counter })
        }
    }
  }
  return updates
}
