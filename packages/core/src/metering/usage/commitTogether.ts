/**
 * Commits what several callers want to commit in one partition at the same time together, where their changes do not depend on
 * each other: what one commit costs a store is then shared. If one of them conflicts, each commits alone, so that the others do not notice.
 */
import {
  type Change,
  type CommitResult,
  makeBatches,
  type Partition,
  type StoreError,
  type StoreOperations
} from "@tollgate/store/internal"
import { Effect } from "effect"

/** Maximum commits that are joined, and their changes: a store applies so many in a few milliseconds of a turn. */
const maxCommits = 64
const maxChanges = 500

type Changes = ReadonlyArray<Change>

/** What a change is about. */
const getPlace = (change: Change): string => {
  if ("key" in change) return `key ${change.key}`
  return "counter" in change ? `counter ${change.counter}` : `term ${change.term}`
}

/** Two changes of the same record or counter as one; `undefined` if a commit cannot have both. */
const merge = (left: Change, right: Change): Change | undefined => {
  if (left._tag === "Check" && right._tag === "Check" && left.expect === right.expect) return left
  if (left._tag !== "Add" || right._tag !== "Add" || left.ttl !== right.ttl) return undefined
  if (left.max !== undefined || right.max !== undefined || left.by < 0 || right.by < 0) return undefined
  const by = left.by + right.by
  return Number.isSafeInteger(by) ? { ...left, by } : undefined
}

/** The changes of some of the commits as one, and which commits these are. */
const join = (commits: ReadonlyArray<Changes>) => {
  const joined = new Map<string, Change>()
  const members = new Set<Changes>()
  for (const changes of commits) {
    if (members.size > 0 && joined.size + changes.length > maxChanges) continue
    const merged = new Map<string, Change>()
    for (const change of changes) {
      const place = getPlace(change)
      const earlier = joined.get(place)
      const both = earlier === undefined ? change : merge(earlier, change)
      if (both !== undefined) merged.set(place, both)
    }
    // One of its changes cannot be merged, or it has two in one place.
    if (merged.size < changes.length) continue
    for (const [place, change] of merged) joined.set(place, change)
    members.add(changes)
  }
  return { changes: [...joined.values()], members }
}

/**
 * `commit` of a store, which joins commits while another one is on its way: a store that commits at once joins none. The totals of
 * what several callers have added to a counter are those of all of them.
 */
export const makeCommitTogether = (store: StoreOperations) => {
  const running = new Map<Partition.Partition, number>()

  const runTogether = (partition: string, commits: ReadonlyArray<Changes>) => {
    const { changes, members } = join(commits)
    if (members.size < 2) return Effect.succeed(undefined)
    return store.commit(partition as Partition.Partition, changes).pipe(
      Effect.map((result) => ({ result, members })),
      Effect.catchTag("StoreConflict", () => Effect.succeed(undefined))
    )
  }
  const inBatch = makeBatches(runTogether, maxCommits)

  const commitJoined = (partition: Partition.Partition, changes: Changes) =>
    Effect.flatMap(inBatch(partition, changes), (together) =>
      together?.members.has(changes) === true ? Effect.succeed(together.result) : store.commit(partition, changes)
    )

  return (partition: Partition.Partition, changes: Changes): Effect.Effect<CommitResult, StoreError> =>
    Effect.suspend(() => {
      const others = running.get(partition) ?? 0
      running.set(partition, others + 1)
      const leave = Effect.sync(() => {
        const left = (running.get(partition) ?? 1) - 1
        if (left > 0) running.set(partition, left)
        else running.delete(partition)
      })
      return Effect.ensuring(others === 0 ? store.commit(partition, changes) : commitJoined(partition, changes), leave)
    })
}
