/**
 * Checks the preconditions of a commit before any change is applied. For adapters that can read their state
 * synchronously; an adapter that commits elsewhere, such as in a Redis script, checks in the same order there.
 */
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
}

/** The conflict of the first change, in order, whose precondition does not hold. */
export const firstViolation = (changes: ReadonlyArray<Change>, state: CommitState): StoreConflict | undefined => {
  const writtenKeys = new Set<string>()
  for (const change of changes) if (change._tag === "Put" || change._tag === "Delete") writtenKeys.add(change.key)
  const newOwners = new Map<string, string>()

  for (const change of changes) {
    switch (change._tag) {
      case "Put":
      case "Delete":
      case "Check": {
        if (state.version(change.key) !== change.expect) {
          return new StoreConflict({ reason: "stale", subject: change.key })
        }
        if (change._tag !== "Put") break
        for (const uniqueKey of change.uniqueKeys) {
          const owner = state.owner(uniqueKey)
          // A record that this commit replaces or deletes releases its unique keys.
          const belongsToAnotherRecord = owner !== undefined && !writtenKeys.has(owner)
          if (belongsToAnotherRecord || (newOwners.has(uniqueKey) && newOwners.get(uniqueKey) !== change.key)) {
            return new StoreConflict({ reason: "unique-key", subject: uniqueKey })
          }
          newOwners.set(uniqueKey, change.key)
        }
        break
      }
      case "AtMost":
        if (state.total(change.term) > change.atMost) {
          return new StoreConflict({ reason: "too-many-records", subject: change.term })
        }
        break
      case "Add":
        if (state.counter(change.counter) + change.by > (change.max ?? Number.MAX_SAFE_INTEGER)) {
          return new StoreConflict({ reason: "counter-exceeded", subject: change.counter })
        }
        break
    }
  }
  return undefined
}
