/**
 * What copying and checking a store have in common: the two stores, and reading them batch by batch.
 */

import { Effect, Stream } from "effect"
import type * as Partition from "../store/Partition.ts"
import type { StoreContentsOperations } from "../store/StoreContents.ts"
import type { StoreEntry } from "../store/StoreEntry.ts"
import type { StoreUnavailable } from "../store/StoreError.ts"
import { StoreCopyError } from "./StoreCopyError.ts"

/** Numbers of entries. */
export interface CopyCounts {
  readonly records: number
  readonly counters: number
  readonly replays: number
}

/** What has been copied, or checked, so far. */
export interface CopyProgress extends CopyCounts {
  readonly phase: "copy" | "check"
  /** The partitions that are done, of `totalPartitions`. */
  readonly partitions: number
  readonly totalPartitions: number
}

export type OnProgress = (progress: CopyProgress) => void

const noCounts: CopyCounts = { records: 0, counters: 0, replays: 0 }

const countEntries = (counts: CopyCounts, entries: ReadonlyArray<StoreEntry>): CopyCounts => {
  const count = (tag: StoreEntry["_tag"]) => entries.reduce((sum, { _tag }) => sum + (_tag === tag ? 1 : 0), 0)
  return {
    records: counts.records + count("Record"),
    counters: counts.counters + count("Counter"),
    replays: counts.replays + count("Replay")
  }
}

const interrupted = (role: "source" | "target") => (cause: StoreUnavailable) =>
  new StoreCopyError({ reason: "interrupted", problem: `the ${role} failed: ${cause.message}`, cause })

/** The contents of a store, whose failures say which of the two it is. */
export const makeSide = (role: "source" | "target", { partitions, read, write }: StoreContentsOperations) => ({
  partitions: Stream.mapError(partitions, interrupted(role)),
  read: (partition: Partition.Partition) => Stream.mapError(read(partition), interrupted(role)),
  write: (partition: Partition.Partition, entries: ReadonlyArray<StoreEntry>) =>
    Effect.mapError(write(partition, entries), interrupted(role))
})

export type Side = ReturnType<typeof makeSide>

/** The names of all partitions of these stores, sorted. */
export const listPartitions = (
  ...sides: ReadonlyArray<Side>
): Effect.Effect<ReadonlyArray<Partition.Partition>, StoreCopyError> =>
  Effect.map(
    Effect.forEach(sides, ({ partitions }) => Stream.runCollect(partitions)),
    (names) => [...new Set(names.flat())].sort()
  )

/** Runs `visit` for each batch of each partition, and reports progress. Returns what it counted. */
export const visitBatches = Effect.fnUntraced(function* (
  phase: CopyProgress["phase"],
  partitions: ReadonlyArray<Partition.Partition>,
  onProgress: OnProgress | undefined,
  visit: (
    partition: Partition.Partition,
    report: (entries: ReadonlyArray<StoreEntry>) => Effect.Effect<void>
  ) => Effect.Effect<void, StoreCopyError>
) {
  let counts = noCounts
  for (const [index, partition] of partitions.entries()) {
    yield* visit(partition, (entries) =>
      Effect.suspend(() => {
        counts = countEntries(counts, entries)
        onProgress?.({ phase, ...counts, partitions: index, totalPartitions: partitions.length })
        return Effect.yieldNow
      })
    )
  }
  onProgress?.({ phase, ...counts, partitions: partitions.length, totalPartitions: partitions.length })
  return counts
})
