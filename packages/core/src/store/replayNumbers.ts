/**
 * The versions or the totals of a commit with an idempotency id, as stores keep them for replays.
 */
import type { Change, CommitResult } from "./Store.ts"

/** Numbers by name. Earlier previews of 0.1 stored only numbers, in the order of the changes. */
export type ReplayNumbers = ReadonlyArray<readonly [name: string, value: number]> | ReadonlyArray<number>

const toMap = (numbers: ReplayNumbers, names: ReadonlyArray<string>): ReadonlyMap<string, number> =>
  new Map(numbers.map((item, index) => (typeof item === "number" ? [names[index] ?? "", item] : item)))

/** `changes` are those of the repeated commit. They supply the names that earlier previews of 0.1 did not store. */
export const toReplayedResult = (
  { versions, totals }: { readonly versions: ReplayNumbers; readonly totals: ReplayNumbers },
  changes: ReadonlyArray<Change>
): CommitResult => ({
  versions: toMap(
    versions,
    changes.flatMap((change) => (change._tag === "Put" ? [change.key] : []))
  ),
  // Those previews had no other changes of counters.
  totals: toMap(
    totals,
    changes.flatMap((change) => (change._tag === "Add" ? [change.counter] : []))
  )
})
