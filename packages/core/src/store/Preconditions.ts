/**
 * Whether a commit is refused, judged before anything of it is applied. For adapters that can look at their state
 * synchronously; an adapter that commits elsewhere, as in a Redis script, keeps to the same order there.
 */
import type { Change } from "./Store.ts"
import { StoreConflict } from "./StoreError.ts"

/** A store's state before the commit. */
export interface CommitState {
  /** The version of a record, 0 if there is none. */
  readonly version: (key: string) => number
  /** The key of the record that holds a claim. */
  readonly owner: (claim: string) => string | undefined
  /** How many records carry a term. */
  readonly total: (term: string) => number
  readonly counter: (name: string) => number
}

/** The first change, in order, that cannot be. */
export const firstViolation = (changes: ReadonlyArray<Change>, before: CommitState): StoreConflict | undefined => {
  const rewritten = new Set<string>()
  for (const change of changes) if (change._tag === "Put" || change._tag === "Delete") rewritten.add(change.key)
  const taken = new Map<string, string>()

  for (const change of changes) {
    switch (change._tag) {
      case "Put":
      case "Delete":
      case "Check": {
        if (before.version(change.key) !== change.expect) {
          return new StoreConflict({ reason: "stale", subject: change.key })
        }
        if (change._tag !== "Put") break
        for (const claim of change.uniqueKeys) {
          const holder = before.owner(claim)
          // A record that this commit rewrites or deletes gives up the claims it had.
          const held = holder !== undefined && !rewritten.has(holder)
          if (held || (taken.has(claim) && taken.get(claim) !== change.key)) {
            return new StoreConflict({ reason: "unique-key", subject: claim })
          }
          taken.set(claim, change.key)
        }
        break
      }
      case "AtMost":
        if (before.total(change.term) > change.atMost) {
          return new StoreConflict({ reason: "limit", subject: change.term })
        }
        break
      case "Add":
        if (before.counter(change.counter) + change.by > (change.max ?? Number.MAX_SAFE_INTEGER)) {
          return new StoreConflict({ reason: "exceeded", subject: change.counter })
        }
        break
    }
  }
  return undefined
}
