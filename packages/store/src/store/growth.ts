/**
 * By how many bytes a commit changes the records of its partition, and whether it may be refused for it. A change that writes
 * or removes a record knows: a collection has read what it replaces.
 */
import { Context } from "effect"
import type { Change } from "./Store.ts"

const growths = new WeakMap<Change, number>()

/** Notes by how many bytes a change makes the body of its record longer. */
export const withGrowth = (change: Change, bytes: number): Change => {
  growths.set(change, bytes)
  return change
}

export const measureGrowth = (changes: ReadonlyArray<Change>): number => {
  let bytes = 0
  for (const change of changes) {
    if (change._tag === "Put" || change._tag === "Delete") bytes += growths.get(change) ?? 0
  }
  return bytes
}

/**
 * How much of its maximum an account may have before a commit that adds bytes is refused. Operations that declare
 * `LimitReached` set it, and fail with that. Decisions and background work go on.
 */
export const AllowedShare = Context.Reference<number>("@tollgate/store/AllowedShare", {
  defaultValue: () => Number.POSITIVE_INFINITY
})
